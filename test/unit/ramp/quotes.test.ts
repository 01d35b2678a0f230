/**
 * The manual provider's quotes: exact, rounded against the payout, and never of nothing.
 */
import { expect, it } from 'vitest';
import { quoteManually } from '../../../src/ramp/manual/quotes.ts';

const prices = { exchangeRates: { KES: '0.02', UGX: '0.0007' }, feeBps: 150, quoteSeconds: 900 };
const now = new Date('2026-03-10T12:00:00Z');
const quote = (tokenAmount: bigint, fiatCurrency: string, feeBps = prices.feeBps) =>
  quoteManually({ ...prices, feeBps }, { tokenAmount, tokenSymbol: 'WHR', fiatCurrency }, now);

it.each([
  // 100 ÷ 0.02 = 5000
  [100n, 'KES', '4925.00', '75.00'],
  // 1 ÷ 0.0007 = 1428.57…: whole shillings, and a fee of 21.42 that is rounded up
  [1n, 'UGX', '1406', '22'],
  [10n ** 30n, 'KES', `4925${'0'.repeat(28)}.00`, `75${'0'.repeat(28)}.00`],
])('%d tokens in %s are %s, after a fee of %s', (tokenAmount, fiatCurrency, fiatAmount, fiatFee) => {
  expect(quote(tokenAmount, fiatCurrency)).toEqual({
    tokenAmount,
    tokenSymbol: 'WHR',
    fiatCurrency,
    fiatAmount,
    fiatFee,
    feeBps: 150,
    exchangeRate: prices.exchangeRates[fiatCurrency as 'KES'],
    expiresAt: new Date('2026-03-10T12:15:00Z'),
  });
});

it('quotes no payout of which the fee leaves nothing', () => {
  const refusal = { code: 'RAMP_REFUSED', details: { field: 'tokenAmount', requested: '1' } };
  const rates = { exchangeRates: { KES: '100' }, quoteSeconds: 900 };
  const of = (feeBps: number) => () =>
    quoteManually({ ...rates, feeBps }, { tokenAmount: 1n, tokenSymbol: 'WHR', fiatCurrency: 'KES' }, now);
  // A token is worth one cent, and a fee has one cent at least.
  expect(of(1)).toThrow(expect.objectContaining(refusal));
  expect(of(0)()).toMatchObject({ fiatAmount: '0.01', fiatFee: '0.00' });
});
