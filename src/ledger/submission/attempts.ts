/**
 * Reading and deciding attempts.
 */
import { and, asc, eq, inArray, isNull } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { attempts } from '../../db/schema/index.ts';

export type Attempt = typeof attempts.$inferSelect;

/**
 * The attempts that may still land, oldest first; the database admits one slot at most. Where there are several,
 * each outbids the one before, and one of them can land at most.
 */
export async function findOpenAttempts(db: Pick<Db, 'select'>, submissionId: string): Promise<Attempt[]> {
  return db
    .select()
    .from(attempts)
    .where(and(eq(attempts.submissionId, submissionId), eq(attempts.state, 'OPEN')))
    .orderBy(asc(attempts.number));
}

/** How often it was signed, bids for the same slot not counted. */
export async function countSigned(db: Pick<Db, '$count'>, submissionId: string): Promise<number> {
  return db.$count(attempts, and(eq(attempts.submissionId, submissionId), isNull(attempts.outbids)));
}

/** Records the one decision about an attempt; a trigger refuses a second one. */
export async function decideAttempt(
  tx: Pick<Tx, 'update'>,
  hash: string,
  state: 'LANDED' | 'REFUSED' | 'DEAD',
  verdict: string,
  decidedAt: Date,
): Promise<void> {
  await tx.update(attempts).set({ state, verdict, decidedAt }).where(eq(attempts.hash, hash));
}

/**
 * Records that these attempts can't land any more: their slot is used up, or their time is over. What another
 * instance decided or signed meanwhile stays as it is.
 */
export async function buryAttempts(
  tx: Pick<Tx, 'update'>,
  hashes: readonly string[],
  verdict: string,
  decidedAt: Date,
): Promise<void> {
  await tx
    .update(attempts)
    .set({ state: 'DEAD', verdict, decidedAt })
    .where(and(inArray(attempts.hash, [...hashes]), eq(attempts.state, 'OPEN')));
}
