/**
 * Reading and deciding attempts.
 */
import { and, eq } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { attempts } from '../../db/schema/index.ts';

export type Attempt = typeof attempts.$inferSelect;

/** The attempt that may still land, if any; the database admits one at most. */
export async function findOpenAttempt(
  db: Pick<Db, 'select'>,
  submissionId: string,
): Promise<Attempt | undefined> {
  const [attempt] = await db
    .select()
    .from(attempts)
    .where(and(eq(attempts.submissionId, submissionId), eq(attempts.state, 'OPEN')));
  return attempt;
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
