/**
 * Sums of the comparisons of a reconciliation.
 */
import { expect, it } from 'vitest';
import { add, nothingCompared, type Comparison } from '../../../src/reconciliation/verdicts.ts';

it('adds up however much was found', () => {
  const sum = nothingCompared();
  const more: Comparison = {
    findings: Array.from({ length: 500_000 }, () => ({ invariant: 'I13', message: 'found' })),
    notProved: Array.from({ length: 500_000 }, () => ({
      invariant: 'I13',
      obstacle: 'NO_DATA',
      message: 'open',
    })),
  };
  add(sum, more);
  expect([sum.findings.length, sum.notProved.length]).toEqual([500_000, 500_000]);
});
