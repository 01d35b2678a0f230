/**
 * What the steps of many submissions do together. Each step goes its own way (step.ts); where several come to the same
 * point at the same time, one statement or transaction serves them all:
 *
 *   steps ──▶ read attempts ──▶ read free slots ──▶ sign, commit ──▶ (broadcast, ask: the adapter's own) ──▶ settle landed ones
 *
 * None holds up the others: those that other transactions hold wait together, apart from the rest, and one whose part fails is
 * taken out and goes alone. A renewal of leases holds hundreds for a moment; each alone would then cost a transaction, one
 * after the other where they end the same run.
 */
import { isPassing } from '../../db/passingFailures.ts';
import { createBatcher, type Batcher } from '../../lib/batches.ts';
import { shareFreshRuns } from '../../lib/sharedRuns.ts';
import { MAX_RECORDS_PER_READ, NetworkUnavailable } from '../network/port.ts';
import { readCurrentAttempts, type CurrentAttempts } from './attempts.ts';
import { effectsFor, type LandedTogether } from './effects.ts';
import { SequenceMismatch } from './sequenceMismatch.ts';
import { readSigningState, type SigningState } from './sequenceSlots.ts';
import { intentOf, settle, type Submission, type Conclusion } from './settle.ts';
import { settleLanded, type LandedSubmission, type SettledTogether } from './settleLanded.ts';
import type { SkipLocked } from './lockSubmissions.ts';
import { signAttempts, type Signed, type SigningRequest } from './signAttempt.ts';
import type { SubmissionDependencies } from './submission.ts';

export interface StepBatches {
  readAttempts(submissionId: string): Promise<CurrentAttempts>;
  /** Null on a network without sequences, where neither slots nor halts limit signing. */
  readSigningState(): Promise<SigningState | null>;
  /** @throws SequenceMismatch, NetworkUnavailable; nothing was signed */
  sign(request: SigningRequest): Promise<Exclude<Signed, 'locked'>>;
  /** @returns true when this call settled it; false when it was settled before, or the conclusion is outdated */
  settle(submission: Submission, conclusion: Conclusion): Promise<boolean>;
}

/** The records of one token's burns are then read, with the one before them, and stored in one piece. */
const MAX_ITEMS = MAX_RECORDS_PER_READ - 1;

export function createStepBatches(deps: SubmissionDependencies): StepBatches {
  const reading = createBatcher({
    maxItems: MAX_ITEMS,
    run: async (ids: string[]) => ids.map(await readCurrentAttempts(deps.db, ids)),
  });
  const readState = shareFreshRuns(async () => {
    const { signingOrder } = deps.network;
    return signingOrder && readSigningState(deps.db, signingOrder);
  });
  const signing = inTwoPasses((lock) =>
    createBatcher({
      maxItems: MAX_ITEMS,
      run: (requests: SigningRequest[]) => signAttempts(deps, requests, lock),
      dividesOn: (error) =>
        !isPassing(error) && !(error instanceof SequenceMismatch) && !(error instanceof NetworkUnavailable),
    }),
  );
  const settling = new Map<LandedTogether, Submit<LandedSubmission, SettledTogether>>();

  function settlingOf(together: LandedTogether): Submit<LandedSubmission, SettledTogether> {
    const known = settling.get(together);
    if (known) return known;
    const submit = inTwoPasses((lock) =>
      createBatcher({
        maxItems: MAX_ITEMS,
        run: (items: LandedSubmission[]) => settleLanded(deps, together, items, lock),
        dividesOn: (error) => !isPassing(error),
      }),
    );
    settling.set(together, submit);
    return submit;
  }

  return {
    readAttempts: (submissionId) => reading.submit(submissionId),
    readSigningState: readState,
    async sign(request) {
      const signed = await signing(request);
      return signed === 'locked' ? [] : signed;
    },
    async settle(submission, conclusion) {
      const { landedTogether } = effectsFor(deps, intentOf(submission));
      // What failed before would divide every batch that it is in.
      if (conclusion.kind === 'succeeded' && landedTogether && submission.failedSettlements === 0) {
        return (await settlingOf(landedTogether)({ submission, conclusion })) === 'settled';
      }
      return settle(deps, submission, conclusion);
    },
  };
}

type Submit<T, R> = (item: T) => Promise<R>;

/** First without waiting for other transactions; what they hold, once more, waiting. */
function inTwoPasses<T, R>(
  batcher: (lock?: SkipLocked) => Batcher<T, R | 'locked'>,
): Submit<T, R | 'locked'> {
  const [first, second] = [batcher({ skipLocked: true }), batcher()];
  return async (item) => {
    const result = await first.submit(item);
    return result === 'locked' ? second.submit(item) : result;
  };
}
