/**
 * Decisions under a submission's lock: which conclusions still hold, by state and by open attempts.
 */
import { describe, expect, it } from 'vitest';
import { isOutdated as isOutdatedSince, maySign } from '../../../../src/ledger/submission/rules.ts';
import {
  conclusionOfHalt,
  type Conclusion,
  type Submission,
} from '../../../../src/ledger/submission/settle.ts';

const refusal = { reason: 'OTHER', message: 'no' } as const;
const landed = { ledger: 7n, result: { kind: 'done' } } as const;
const reviewOf = (attemptHash: string | null): Conclusion => ({
  kind: 'needsReview',
  attemptHash,
  cause: 'UNDETERMINABLE',
  reason: 'history is gone',
});
const byOperator = (dead: readonly string[]): Conclusion[] => [
  { kind: 'givenUp', dead, refusal },
  { kind: 'adopted', dead, evidence: 'a record', result: landed.result, txHash: null },
];
/** Conclusions from bytes that the network has included. */
const OF_THE_NETWORK: Conclusion[] = [
  { kind: 'succeeded', attemptHash: 'a', landed },
  { kind: 'refused', attemptHash: 'a', refusal },
];
/** Conclusions made while no signed attempt could land. */
const FOUND_UNSIGNED: Conclusion[] = [{ kind: 'refused', attemptHash: null, refusal }, reviewOf(null)];
const EVERY = [...OF_THE_NETWORK, ...FOUND_UNSIGNED, reviewOf('a'), ...byOperator(['a'])];

const isOutdated = (state: Submission['state'], open: readonly string[], conclusion: Conclusion) =>
  isOutdatedSince({ state, resumptions: 1 }, open, { resumptions: 1 }, conclusion);

describe('a conclusion', () => {
  it('from before a resumption is outdated, except of bytes that landed, and of a halt', () => {
    const isBefore = (state: Submission['state'], open: readonly string[], conclusion: Conclusion) =>
      isOutdatedSince({ state, resumptions: 2 }, open, { resumptions: 1 }, conclusion);
    for (const conclusion of FOUND_UNSIGNED) expect(isBefore('PENDING', [], conclusion)).toBe(true);
    expect(isBefore('PENDING', ['a'], reviewOf('a'))).toBe(true);
    for (const conclusion of byOperator(['a']))
      expect(isBefore('NEEDS_REVIEW', ['a'], conclusion)).toBe(true);
    for (const conclusion of OF_THE_NETWORK) expect(isBefore('PENDING', ['a'], conclusion)).toBe(false);
    expect(isBefore('PENDING', [], conclusionOfHalt('a test says so'))).toBe(false);
  });

  it.each(['SUCCEEDED', 'REFUSED'] as const)('about what is %s is outdated', (state) => {
    for (const conclusion of EVERY) expect(isOutdated(state, [], conclusion), conclusion.kind).toBe(true);
  });

  it('of bytes that landed holds, whatever else is open, under review too', () => {
    for (const state of ['PENDING', 'NEEDS_REVIEW'] as const) {
      for (const conclusion of OF_THE_NETWORK) expect(isOutdated(state, ['b'], conclusion)).toBe(false);
    }
  });

  it('that was found without signed bytes is outdated by bytes, and by a review', () => {
    for (const conclusion of FOUND_UNSIGNED) {
      expect(isOutdated('PENDING', [], conclusion)).toBe(false);
      expect(isOutdated('PENDING', ['a'], conclusion)).toBe(true);
      expect(isOutdated('NEEDS_REVIEW', [], conclusion)).toBe(true);
    }
  });

  it('that bytes have no outcome holds while they are open', () => {
    expect(isOutdated('PENDING', ['a'], reviewOf('a'))).toBe(false);
    expect(isOutdated('PENDING', [], reviewOf('a'))).toBe(true);
    expect(isOutdated('PENDING', ['b'], reviewOf('a'))).toBe(true);
  });

  it('of an operator holds under review alone, and for all that was open when it was made', () => {
    for (const conclusion of byOperator(['a'])) {
      expect(isOutdated('NEEDS_REVIEW', ['a'], conclusion)).toBe(false);
      expect(isOutdated('NEEDS_REVIEW', [], conclusion)).toBe(false);
      expect(isOutdated('NEEDS_REVIEW', ['a', 'b'], conclusion)).toBe(true);
      expect(isOutdated('PENDING', ['a'], conclusion)).toBe(true);
    }
  });
});

it('a call is signed while it is pending and nothing that was signed can land', () => {
  expect(maySign('PENDING', [])).toBe(true);
  expect(maySign('PENDING', ['a'])).toBe(false);
  for (const state of ['NEEDS_REVIEW', 'SUCCEEDED', 'REFUSED'] as const)
    expect(maySign(state, [])).toBe(false);
});
