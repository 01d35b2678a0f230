import { expect, it } from 'vitest';
import { decimalTonnes } from '../../../../src/schema/carbon/retirementRecord.ts';

const TONNE = 10n ** 18n;

it.each([
  [0n, '0'],
  [1_000n * TONNE, '1000'],
  [TONNE + TONNE / 2n, '1.5'],
  [1n, '0.000000000000000001'],
  [-TONNE / 2n, '-0.5'],
  [-20n * TONNE, '-20'],
])('shows %d base units as %s t, exactly', (amount, tonnes) => {
  expect(decimalTonnes(amount)).toBe(tonnes);
});
