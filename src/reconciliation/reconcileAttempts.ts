/**
 * Asks the network again about the newest landed attempts: it must still report them landed, with the same result.
 */
import { isDeepStrictEqual } from 'node:util';
import { and, desc, eq, inArray } from 'drizzle-orm';
import { attempts, retirements, submissions } from '../db/tables/index.ts';
import type { Outcome } from '../ledger/network/port.ts';
import { createQuestions } from './questions.ts';
import type { ReconcileDependencies } from './reconcileProject.ts';
import { nothingCompared, type Comparison } from './verdicts.ts';

/**
 * Nodes keep outcomes for days or weeks, and each costs a request; older attempts are proved by their effects alone.
 */
export const MAX_OUTCOMES = 200;
const MAX_CONCURRENT_QUESTIONS = 8;

export async function reconcileAttempts({
  db,
  network,
  submissionIds,
}: Pick<ReconcileDependencies, 'db' | 'network'> & {
  /** Of an incremental run: the attempts of these alone. */
  submissionIds?: readonly string[];
}): Promise<Comparison> {
  if (submissionIds?.length === 0) return nothingCompared();
  const landed = await db
    .select({ attempt: attempts, result: submissions.result, ledger: retirements.ledger })
    .from(attempts)
    .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
    .leftJoin(retirements, eq(retirements.id, submissions.targetId))
    .where(
      and(eq(attempts.state, 'LANDED'), submissionIds && inArray(attempts.submissionId, [...submissionIds])),
    )
    .orderBy(desc(attempts.createdAt))
    .limit(MAX_OUTCOMES);
  const questions = createQuestions({
    invariants: ['I12'],
    noun: 'landed attempts',
    concurrency: MAX_CONCURRENT_QUESTIONS,
  });
  await questions.askAll(
    landed,
    ({ attempt }) => nameOf(attempt),
    async (row) => {
      const message = describeDifference(row, await network.outcome(row.attempt));
      return { findings: message === null ? [] : [{ invariant: 'I12', message }], notProved: [] };
    },
  );
  return questions.sum();
}

interface Landed {
  attempt: typeof attempts.$inferSelect;
  result: unknown;
  ledger: bigint | null;
}

function describeDifference({ attempt, result, ledger }: Landed, outcome: Outcome): string | null {
  // The node's history does not reach back that far.
  if (outcome.status === 'undeterminable') return null;
  const at = nameOf(attempt);
  if (outcome.status !== 'succeeded') return `${at} landed, and the network says ${outcome.status}`;
  // After a rollback the same transaction lands once more, in another ledger than both rows say.
  const isStoredAlike = ledger === null || ledger === attempt.ledger;
  if (isDeepStrictEqual(outcome.result, result) && isStoredAlike) return null;
  const [said, stored] = [outcome.result, result].map((value) => JSON.stringify(value));
  return (
    `${at} landed in ledger ${outcome.ledger} with ${said}, stored are ${attempt.ledger} for the transaction, ` +
    `${ledger ?? 'none'} for the retirement and ${stored}`
  );
}

function nameOf({ hash, submissionId }: Landed['attempt']): string {
  return `transaction ${hash} of submission ${submissionId}`;
}
