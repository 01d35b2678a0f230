/**
 * What a step reads and writes in the database. The rest of a step is the network's, so the rules of step.ts run on any
 * store that keeps the promises made here: PostgreSQL, or a test's own memory.
 */
import { and, eq, isNotNull, sql, type SQL } from 'drizzle-orm';
import { attempts, submissions } from '../../db/tables/index.ts';
import type { Outcome } from '../network/port.ts';
import { markDead, readCauses, type Attempt } from './attempts.ts';
import { haltSigning } from './knownHistory.ts';
import { giveBackSlot } from './sequenceSlots.ts';
import type { Submission } from './settle.ts';
import { createStepBatches, type StepBatches } from './stepBatches.ts';
import type { SubmissionDependencies } from './submission.ts';

export interface StepStore extends StepBatches {
  readCauses(submissionId: string, since: number, limit: number): Promise<(string | null)[]>;
  /**
   * Dead bytes may be signed again, unless a transaction that this database does not know took their slot: it may have
   * been the same call, signed for a newer copy of the database. Then nothing is signed before the network was checked.
   */
  endAttempts(
    submission: Submission,
    open: readonly Attempt[],
    outcome: Extract<Outcome, { status: 'dead' }>,
  ): Promise<void>;
}

export function createStepStore(deps: SubmissionDependencies): StepStore {
  return {
    ...createStepBatches(deps),
    readCauses: (submissionId, since, limit) => readCauses(deps.db, submissionId, since, limit),
    async endAttempts(submission, open, { proof, usedBy, cause, isUnused }) {
      const hashes = open.map((attempt) => attempt.hash);
      // All of them have the same.
      const [slot] = open;
      await deps.db.transaction(async (tx) => {
        // A holder's replacement names the attempt before it: that one must not end between its reading and its writing.
        await tx
          .select({ id: submissions.id })
          .from(submissions)
          .where(eq(submissions.id, submission.id))
          .for('update');
        await markDead(tx, hashes, proof, deps.clock.now(), cause ?? null);
        if (isUnused && slot?.sequence != null)
          await giveBackSlot(tx, { source: slot.source, sequence: slot.sequence });
        if (submission.signer === 'HOLDER' || usedBy === undefined || slot === undefined) return;
        if ((await tx.$count(attempts, usedBy === null ? landedInVain(slot) : eq(attempts.hash, usedBy))) > 0)
          return;
        await haltSigning(deps, tx, {
          address: slot.source,
          message: `${proof}. This database knows nothing of that transaction`,
        });
      });
    },
  };
}

/** A slot that a node which was behind called unused is given away twice: then its first user is known, though not its hash. */
function landedInVain({ source, sequence }: Attempt): SQL | undefined {
  if (sequence === null) return sql`false`;
  return and(eq(attempts.source, source), eq(attempts.sequence, sequence), isNotNull(attempts.cause));
}
