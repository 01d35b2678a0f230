/**
 * Texts that strangers may write into a token's retirement list, in their stored and their displayed form.
 */
import { describe, expect, it } from 'vitest';
import { storableText } from '../../../../src/ledger/network/foreignText.ts';
import { decimalTonnes } from '../../../../src/schema/carbon/retirementRecord.ts';
import { scalars } from '../../../../src/schema/core/scalars.ts';

const TONNE = 10n ** 18n;

describe('a negative amount, which the deployed contract takes', () => {
  it.each([
    [-TONNE / 2n, '-0.5'],
    [-5n, '-0.000000000000000005'],
    [-TONNE, '-1'],
    [(-5n * TONNE) / 2n, '-2.5'],
    [0n, '0'],
    [(5n * TONNE) / 2n, '2.5'],
  ])('%s base units are %s tonnes', (amount, shown) => {
    expect(decimalTonnes(amount)).toBe(shown);
    expect(scalars.Decimal.serialize(shown)).toBe(shown);
    expect(scalars.BaseUnits.serialize(amount)).toBe(String(amount));
  });

  it('is shown, but never taken', () => {
    expect(() => scalars.BaseUnits.parseValue('-5')).toThrow('BaseUnits');
    expect(() => scalars.Decimal.parseValue('-0.5')).toThrow('Decimal');
  });
});

it('replaces what a database can’t keep in a text, and nothing else', () => {
  expect(storableText('a\u0000b\u0000')).toBe('a\ufffdb\ufffd');
  expect(storableText('line\nÖ 🌳')).toBe('line\nÖ 🌳');
});
