/**
 * Asks the network again about the newest landed attempts: they must still be landed, with the same result.
 */
import { isDeepStrictEqual } from 'node:util';
import { and, desc, eq, isNotNull, sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { isOneOf } from '../db/manyRows.ts';
import { attempts, submissions } from '../db/tables/index.ts';
import type { Outcome } from '../ledger/network/port.ts';
import { createQuestions } from './questions.ts';
import type { ReconcileDependencies } from './reconcileProject.ts';
import { broken, nothingCompared, type Comparison } from './verdicts.ts';

/**
 * Maximum attempts asked about. Nodes keep outcomes for days or weeks, and each costs a request; only effects
 * prove older attempts.
 */
export const MAX_OUTCOMES = 200;
const MAX_CONCURRENT_QUESTIONS = 8;

export async function reconcileAttempts({
  db,
  network,
  submissionIds,
}: Pick<ReconcileDependencies, 'db' | 'network'> & {
  /** In an incremental run, the submissions whose attempts are compared. */
  submissionIds?: readonly string[];
}): Promise<Comparison> {
  if (submissionIds?.length === 0) return nothingCompared();
  const landed = await readLanded(db, submissionIds);
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
      return message === null ? nothingCompared() : broken('I12', message);
    },
  );
  return questions.sum();
}

/**
 * Orders by the age of submissions, which has an index; an index of attempts by age would cost each
 * retirement another entry. The newest are selected first, because joining and sorting all landed ones takes
 * longer than a statement may.
 */
function readLanded(db: Db, submissionIds: readonly string[] | undefined): Promise<Landed[]> {
  const { id, result, txHash, createdAt } = submissions;
  const newest = db
    .select({ id, result })
    .from(submissions)
    .where(and(isNotNull(txHash), submissionIds && isOneOf(id, submissionIds)))
    .orderBy(desc(createdAt), desc(id))
    .limit(MAX_OUTCOMES)
    .as('newest');
  // With its own limit, the attempt is looked up for each submission, which a planner with old statistics may
  // not choose itself.
  const landed = db
    .select()
    .from(attempts)
    .where(and(eq(attempts.submissionId, newest.id), sql`${attempts.state} = 'LANDED'`))
    .limit(1)
    .as('landed');
  return db
    .select({ attempt: landed._.selectedFields, result: newest.result })
    .from(newest)
    .crossJoinLateral(landed)
    .orderBy(desc(landed.createdAt));
}

interface Landed {
  attempt: typeof attempts.$inferSelect;
  result: unknown;
}

/** Not the ledger: after a rollback, the same transaction lands again in another one than the rows say. */
function describeDifference({ attempt, result }: Landed, outcome: Outcome): string | null {
  // The node's history does not reach back to this attempt.
  if (outcome.status === 'undeterminable') return null;
  const at = nameOf(attempt);
  if (outcome.status !== 'succeeded') return `${at} landed, and the network says ${outcome.status}`;
  if (isDeepStrictEqual(outcome.result, result)) return null;
  const [said, stored] = [outcome.result, result].map((value) => JSON.stringify(value));
  return `${at} landed with ${said}, stored is ${stored}`;
}

function nameOf({ hash, submissionId }: Landed['attempt']): string {
  return `transaction ${hash} of submission ${submissionId}`;
}
