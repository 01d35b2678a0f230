/**
 * Claims rows that are due: a claim pushes the due time past the longest possible step, so that what an instance takes
 * to its grave falls due again by itself. Times are the database's, and no two instances claim the same row.
 */
import { and, sql, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Db } from './connection.ts';

type DueTable = PgTable & { id: PgColumn; dueAt: PgColumn };

/** @param claim.condition which rows are open at all; an index over their due times should match it */
export async function claimDue<Table extends DueTable>(
  db: Db,
  table: Table,
  claim: { condition: SQL | undefined; limit: number; claimSeconds: number },
): Promise<Table['$inferSelect'][]> {
  const rows: DueTable = table;
  const due = db
    .select({ id: rows.id })
    .from(rows)
    .where(and(claim.condition, sql`${rows.dueAt} <= now()`))
    .orderBy(rows.dueAt)
    .limit(claim.limit)
    .for('update', { skipLocked: true });
  return db
    .update(rows)
    .set({ dueAt: sql`now() + make_interval(secs => ${claim.claimSeconds})` })
    .where(sql`${rows.id} IN (${due})`)
    .returning();
}
