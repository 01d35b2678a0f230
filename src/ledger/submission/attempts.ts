/**
 * Reads and decides attempts.
 */
import { and, asc, desc, eq, gt, inArray, isNull, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Db, Tx } from '../../db/connection.ts';
import { hotSelect } from '../../db/hotQueries.ts';
import { isOneOf } from '../../db/manyRows.ts';
import { attempts } from '../../db/tables/index.ts';
import { groupBy } from '../../lib/groupBy.ts';

export type Attempt = typeof attempts.$inferSelect;

export interface CurrentAttempts {
  /**
   * The attempts that may still land, oldest first; the database allows them one slot. If there are several,
   * each replaces the one before, and at most one of them can land.
   */
  open: Attempt[];
  /** The number of the latest attempt; 0 before the first. */
  lastNumber: number;
}

const selectOpenOrLatest = hotSelect(
  new QueryBuilder()
    .select()
    .from(attempts)
    .where(
      and(
        isOneOf(attempts.submissionId, sql.placeholder('submissionIds')),
        sql`(${attempts.state} = 'OPEN' OR NOT EXISTS (SELECT 1 FROM ${attempts} later
          WHERE later.submission_id = ${attempts.submissionId} AND later.number > ${attempts.number}))`,
      ),
    )
    .orderBy(asc(attempts.number)),
);

/** Reads many submissions' attempts in one statement. @returns the attempts of a submission by its id */
export async function readCurrentAttempts(
  db: Pick<Db, '_'>,
  submissionIds: readonly string[],
): Promise<(submissionId: string) => CurrentAttempts> {
  const rows = await selectOpenOrLatest(db, { submissionIds: JSON.stringify(submissionIds) });
  const bySubmission = groupBy(rows, ({ submissionId }) => submissionId);
  return (submissionId) => {
    const current = bySubmission.get(submissionId) ?? [];
    return {
      open: current.filter(({ state }) => state === 'OPEN'),
      lastNumber: current.at(-1)?.number ?? 0,
    };
  };
}

export async function findOpenAttempts(db: Pick<Db, '_'>, submissionId: string): Promise<Attempt[]> {
  return (await readCurrentAttempts(db, [submissionId]))(submissionId).open;
}

/**
 * Reads the slots in which the submission was signed after attempt number `since`, newest first: for each,
 * the cause of death if an attempt landed there without effect, else null. All attempts in one slot have the
 * same cause, and only one of them was paid for.
 */
export async function readCauses(
  db: Pick<Db, 'select'>,
  submissionId: string,
  since: number,
  limit: number,
): Promise<(string | null)[]> {
  const slots = await db
    .select({ cause: attempts.cause })
    .from(attempts)
    .where(
      and(eq(attempts.submissionId, submissionId), gt(attempts.number, since), isNull(attempts.replaces)),
    )
    .orderBy(desc(attempts.number))
    .limit(limit);
  return slots.map(({ cause }) => cause);
}

/** The number of the submission's latest attempt; 0 before the first. */
export async function readLastNumber(db: Pick<Db, '_'>, submissionId: string): Promise<number> {
  return (await readCurrentAttempts(db, [submissionId]))(submissionId).lastNumber;
}

/**
 * Records the one decision about an attempt; a trigger refuses a second one.
 * @param ledger the ledger that includes it, if one does
 */
export async function decideAttempt(
  tx: Pick<Tx, 'update'>,
  hash: string,
  state: 'LANDED' | 'REFUSED' | 'DEAD',
  evidence: string,
  decidedAt: Date,
  ledger: bigint | null = null,
): Promise<void> {
  await tx.update(attempts).set({ state, evidence, decidedAt, ledger }).where(eq(attempts.hash, hash));
}

/**
 * Records that these attempts have no effect, now or later: their slot was used, their time is over, or they
 * landed without effect. An attempt that another instance has decided or signed meanwhile stays as it is.
 */
export async function markDead(
  tx: Pick<Tx, 'update'>,
  hashes: readonly string[],
  evidence: string,
  decidedAt: Date,
  cause: string | null = null,
): Promise<void> {
  await tx
    .update(attempts)
    .set({ state: 'DEAD', evidence, decidedAt, cause })
    .where(and(inArray(attempts.hash, [...hashes]), eq(attempts.state, 'OPEN')));
}
