/**
 * The version of a submission's review is another one after each change of what its operator decides about.
 */
import { expect, it } from 'vitest';
import type { Submission } from '../../../src/ledger/submission/settle.ts';
import { versionOfReview } from '../../../src/resolvers/operations/reviewVersion.ts';

const REVIEWED = {
  id: 'a',
  state: 'NEEDS_REVIEW',
  resumptions: 0,
  reviewCause: 'REFUSED',
  stateReason: 'the fee is above the cap',
} as Submission;

it('tells reviews apart by submission, resumption, cause and reason', () => {
  const others: Partial<Submission>[] = [
    { id: 'b' },
    { resumptions: 1 },
    { reviewCause: 'SIGNING_HALTED' },
    { stateReason: 'the salt is used' },
  ];
  const versions = [REVIEWED, ...others.map((other) => ({ ...REVIEWED, ...other }))].map(versionOfReview);
  expect(new Set(versions).size).toBe(5);
  expect(versionOfReview({ ...REVIEWED })).toBe(versions[0]);
  expect(versionOfReview({ ...REVIEWED, state: 'PENDING' })).toBeNull();
});
