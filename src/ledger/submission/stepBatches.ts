/**
 * What the steps of many submissions do together. Each step goes its own way (step.ts); where several come to the same
 * point at the same time, one statement or transaction serves them all:
 *
 *   steps ──▶ open attempts ──▶ sign, commit ──▶ (broadcast, ask: the adapter's own) ──▶ settle landed ones
 *
 * A submission that another transaction holds, and one whose part fails, is taken out and goes alone, so that none holds
 * up the others.
 */
import { isPassing } from '../../db/passingFailures.ts';
import { createBatcher, type Batcher } from '../../lib/batches.ts';
import { MAX_RECORDS_PER_READ, NetworkUnavailable } from '../network/port.ts';
import { findOpenAttemptsOf, readLastNumbers, type Attempt } from './attempts.ts';
import { effectsFor, type LandedTogether } from './effects.ts';
import { SequenceMismatch } from './sequenceMismatch.ts';
import { intentOf, settle, type Submission, type Verdict } from './settle.ts';
import { settleLanded, type LandedSubmission, type SettledTogether } from './settleLanded.ts';
import { signAttempts, type Signed, type SigningRequest } from './signAttempt.ts';
import type { SubmissionDependencies } from './submission.ts';

export interface StepBatches {
  /** Oldest first. */
  findOpenAttempts(submissionId: string): Promise<Attempt[]>;
  /** 0 before the first. */
  readLastNumber(submissionId: string): Promise<number>;
  /** @throws SequenceMismatch, NetworkUnavailable; nothing was signed */
  sign(request: SigningRequest): Promise<Exclude<Signed, 'locked'>>;
  /** @returns true when this call settled it; false when it was settled before, or the verdict is outdated */
  settle(submission: Submission, verdict: Verdict): Promise<boolean>;
}

/** The records of one token's burns are then read, and stored, in one piece. */
const MAX_ITEMS = MAX_RECORDS_PER_READ;
/** Far more than steps are under way at once. */
const MAX_WAITING = 10_000;

export function createStepBatches(deps: SubmissionDependencies): StepBatches {
  const limits = { maxItems: MAX_ITEMS, maxWaiting: MAX_WAITING };
  const open = createBatcher({
    ...limits,
    run: (ids: string[]) => eachOf(ids, findOpenAttemptsOf(deps.db, ids), []),
  });
  const last = createBatcher({
    ...limits,
    run: (ids: string[]) => eachOf(ids, readLastNumbers(deps.db, ids), 0),
  });
  const signing = createBatcher({
    ...limits,
    run: (requests: SigningRequest[]) => signAttempts(deps, requests, { skipLocked: true }),
    dividesOn: (error) =>
      !isPassing(error) && !(error instanceof SequenceMismatch) && !(error instanceof NetworkUnavailable),
  });
  const settling = new Map<LandedTogether, Batcher<LandedSubmission, SettledTogether>>();

  function settlingOf(together: LandedTogether): Batcher<LandedSubmission, SettledTogether> {
    const known = settling.get(together);
    if (known) return known;
    const batcher = createBatcher({
      ...limits,
      run: (items: LandedSubmission[]) => settleLanded(deps, together, items),
      dividesOn: (error) => !isPassing(error),
    });
    settling.set(together, batcher);
    return batcher;
  }

  return {
    findOpenAttempts: (submissionId) => open.submit(submissionId),
    readLastNumber: (submissionId) => last.submit(submissionId),
    async sign(request) {
      let signed = await signing.submit(request);
      if (signed === 'locked') [signed = []] = await signAttempts(deps, [request]);
      return signed === 'locked' ? [] : signed;
    },
    async settle(submission, verdict) {
      const { landedTogether } = effectsFor(deps, intentOf(submission));
      // What failed before would divide every batch that it is in.
      if (verdict.kind === 'succeeded' && landedTogether && submission.failedSettlements === 0) {
        const settled = await settlingOf(landedTogether).submit({ submission, verdict });
        if (settled !== 'locked') return settled === 'settled';
      }
      return settle(deps, submission.id, verdict);
    },
  };
}

async function eachOf<T>(
  ids: readonly string[],
  reading: Promise<ReadonlyMap<string, T>>,
  otherwise: T,
): Promise<T[]> {
  const found = await reading;
  return ids.map((id) => found.get(id) ?? otherwise);
}
