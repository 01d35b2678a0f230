/**
 * Compares a payout with its quote: the amount must be the same, in whatever form, in the same currency.
 */
import { expect, it } from 'vitest';
import { describeOtherFiat } from '../../../src/ramp/quotedFiat.ts';

const quoted = { fiatCurrency: 'KES', fiatAmount: '4925.00' };

it.each([
  ['4925.00', 'KES', null],
  ['4925', 'KES', null],
  ['4925.000', 'KES', null],
  ['4925.01', 'KES', 'the quote is 4925.00 KES, its provider pays 4925.01 KES'],
  ['492500', 'KES', 'the quote is 4925.00 KES, its provider pays 492500 KES'],
  ['49.2500', 'KES', 'the quote is 4925.00 KES, its provider pays 49.2500 KES'],
  ['4925.00', 'UGX', 'the quote is 4925.00 KES, its provider pays 4925.00 UGX'],
])('%s %s', (amount, currency, other) => {
  expect(describeOtherFiat(quoted, { status: 'settled', fiat: { amount, currency } })).toBe(other);
});

it('an amount of any length is its own', () => {
  const fiatAmount = `${'9'.repeat(37)}.50`;
  const fiat = { amount: `${'9'.repeat(37)}.5`, currency: 'KES' };
  expect(describeOtherFiat({ ...quoted, fiatAmount }, { status: 'settled', fiat })).toBeNull();
});

it('a provider may say one of both', () => {
  const saying = (fiat: { currency?: string; amount?: string }) =>
    describeOtherFiat(quoted, { status: 'settled', fiat });
  expect([saying({ currency: 'KES' }), saying({ amount: '4925' })]).toEqual([null, null]);
  expect(saying({ currency: 'UGX' })).toBe('the quote is 4925.00 KES, its provider pays 4925.00 UGX');
  expect(saying({ amount: '1' })).toBe('the quote is 4925.00 KES, its provider pays 1 KES');
});

it('nothing that a provider does not say differs', () => {
  expect(describeOtherFiat(quoted, { status: 'settled' })).toBeNull();
});
