/**
 * The database access of a step. The rest of a step's I/O is the network's, so the rules of step.ts run on
 * any store that keeps the promises of StepStore: PostgreSQL, or a test's memory.
 *
 * Steps run independently; when several reach the same point at the same time, one statement or transaction
 * serves all:
 *
 *   steps ──▶ read attempts ──▶ read free slots ──▶ sign, commit ──▶ (broadcast, ask) ──▶ settle landed
 *
 * No step delays the others: submissions that other transactions have locked wait together, apart from the
 * rest, and a submission that makes its batch fail is taken out of the batch. A renewal of leases locks
 * hundreds of rows for a moment; if each waited alone, each would cost a transaction, one after the other
 * when they end the same expiry run.
 */
import { and, eq, isNotNull, sql, type SQL } from 'drizzle-orm';
import { isTransient } from '../../db/transientFailures.ts';
import { attempts } from '../../db/tables/index.ts';
import { createBatcher, type Batcher } from '../../lib/batches.ts';
import { freshSingleFlight } from '../../lib/singleFlight.ts';
import { MAX_RECORDS_PER_READ, NetworkUnavailable, type Outcome } from '../network/port.ts';
import { markDead, readCauses, readCurrentAttempts, type Attempt, type CurrentAttempts } from './attempts.ts';
import { effectsFor, type LandedTogether } from './effects.ts';
import { haltSigning } from './knownHistory.ts';
import { lockSubmissions, type SkipLocked } from './lockSubmissions.ts';
import { SequenceMismatch } from './sequenceMismatch.ts';
import { giveBackSlot, readSigningState, type SigningState } from './sequenceSlots.ts';
import { intentOf, settle, type Conclusion, type Submission } from './settle.ts';
import { settleLanded, type LandedSubmission, type SettledTogether } from './settleLanded.ts';
import { signAttempts, type Signed, type SigningRequest } from './signAttempt.ts';
import type { SubmissionDependencies } from './submission.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

export interface StepStore {
  readAttempts(submissionId: string): Promise<CurrentAttempts>;
  /** Null on a network without sequences, where neither slots nor halts limit signing. */
  readSigningState(): Promise<SigningState | null>;
  /** @throws SequenceMismatch, NetworkUnavailable; nothing was signed */
  sign(request: SigningRequest): Promise<Exclude<Signed, 'locked'>>;
  /** @returns true when this call settled it; false when it was settled before or the conclusion is old */
  settle(submission: Submission, conclusion: Conclusion): Promise<boolean>;
  readCauses(submissionId: string, since: number, limit: number): Promise<(string | null)[]>;
  /**
   * Records the attempts as dead. Their call may be signed again, unless a transaction that this database
   * does not know took their slot: it may be the same call, signed for a newer copy of the database. Then
   * signing halts until the network was checked.
   */
  endAttempts(
    submission: Submission,
    open: readonly Attempt[],
    outcome: Extract<Outcome, { status: 'dead' }>,
  ): Promise<void>;
}

/**
 * With this many, one read gets the records of one token's burns and the record before them, and one
 * transaction stores them all.
 */
const MAX_ITEMS = MAX_RECORDS_PER_READ - 1;

export function createStepStore(deps: SubmissionDependencies): StepStore {
  const reading = createBatcher({
    maxItems: MAX_ITEMS,
    run: async (ids: string[]) => ids.map(await readCurrentAttempts(deps.db, ids)),
  });
  const readState = freshSingleFlight(async () => {
    const { signingOrder } = deps.network;
    return signingOrder && readSigningState(deps.db, signingOrder);
  });
  const signing = inTwoPasses((lock) =>
    createBatcher({
      maxItems: MAX_ITEMS,
      run: (requests: SigningRequest[]) => signAttempts(deps, requests, lock),
      dividesOn: (error) =>
        !isTransient(error) && !(error instanceof SequenceMismatch) && !(error instanceof NetworkUnavailable),
    }),
  );
  const settling = new Map<LandedTogether, Submit<LandedSubmission, SettledTogether>>();

  const settlingOf = (together: LandedTogether) =>
    getOrMake(settling, together, () =>
      inTwoPasses((lock) =>
        createBatcher({
          maxItems: MAX_ITEMS,
          run: (items: LandedSubmission[]) => settleLanded(deps, together, items, lock),
          dividesOn: (error) => !isTransient(error),
        }),
      ),
    );

  return {
    readAttempts: (submissionId) => reading.submit(submissionId),
    readSigningState: readState,
    async sign(request) {
      const signed = await signing(request);
      return signed === 'locked' ? [] : signed;
    },
    async settle(submission, conclusion) {
      const { landedTogether } = effectsFor(deps, intentOf(submission));
      if (conclusion.kind === 'succeeded' && landedTogether) {
        return (await settlingOf(landedTogether)({ submission, conclusion })) === 'settled';
      }
      return settle(deps, submission, conclusion);
    },
    readCauses: (submissionId, since, limit) => readCauses(deps.db, submissionId, since, limit),
    endAttempts: (submission, open, outcome) => endAttempts(deps, submission, open, outcome),
  };
}

async function endAttempts(
  deps: SubmissionDependencies,
  ...[submission, open, { proof, usedBy, cause, isUnused }]: Parameters<StepStore['endAttempts']>
): Promise<void> {
  const hashes = open.map((attempt) => attempt.hash);
  // All open attempts have the same slot.
  const [slot] = open;
  await deps.db.transaction(async (tx) => {
    // A holder's replacement names the attempt before it, which must not end between the read and the write.
    await lockSubmissions(tx, [submission.id]);
    await markDead(tx, hashes, proof, deps.clock.now(), cause ?? null);
    if (isUnused && slot?.sequence != null)
      await giveBackSlot(tx, { source: slot.source, sequence: slot.sequence });
    if (submission.signer === 'HOLDER' || usedBy === undefined || slot === undefined) return;
    const isUser = usedBy === null ? landedInVain(slot) : eq(attempts.hash, usedBy);
    if ((await tx.$count(attempts, isUser)) > 0) return;
    await haltSigning(deps, tx, {
      address: slot.source,
      message: `${proof}. This database knows nothing of that transaction`,
    });
  });
}

/**
 * A slot that a node called unused because it was behind is assigned twice. Its first user is then an attempt
 * of this database, even if the network does not name its hash.
 */
function landedInVain({ source, sequence }: Attempt): SQL | undefined {
  if (sequence === null) return sql`false`;
  return and(eq(attempts.source, source), eq(attempts.sequence, sequence), isNotNull(attempts.cause));
}

type Submit<T, R> = (item: T) => Promise<R>;

/** Submits an item without waiting for locks; if the item is locked, submits it again and waits. */
function inTwoPasses<T, R>(
  batcher: (lock?: SkipLocked) => Batcher<T, R | 'locked'>,
): Submit<T, R | 'locked'> {
  const [first, second] = [batcher({ skipLocked: true }), batcher()];
  return async (item) => {
    const result = await first.submit(item);
    return result === 'locked' ? second.submit(item) : result;
  };
}
