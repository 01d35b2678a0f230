/**
 * Locks submissions for a transaction that decides about them.
 */
import { sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Tx } from '../../db/connection.ts';
import { hotSelect } from '../../db/hotQueries.ts';
import { isOneOf } from '../../db/manyRows.ts';
import { submissions } from '../../db/tables/index.ts';
import type { Submission } from './settle.ts';

/** Skips rows that other transactions have locked. */
export interface SkipLocked {
  skipLocked: true;
}

const waiting = selectForUpdate();
const skipping = selectForUpdate({ skipLocked: true });

/** A submission's fields that decide what may be done under its lock. */
export type LockedSubmission = Pick<Submission, 'state' | 'resumptions'>;

/** @returns the submissions that could be locked, by id */
export async function lockSubmissions(
  tx: Tx,
  ids: readonly string[],
  lock?: SkipLocked,
): Promise<Map<string, LockedSubmission>> {
  const select = lock ? skipping : waiting;
  const rows = await select(tx, { ids: JSON.stringify(ids) });
  return new Map(rows.map(({ id, ...locked }) => [id, locked]));
}

function selectForUpdate(lock?: SkipLocked) {
  return hotSelect(
    new QueryBuilder()
      .select({ id: submissions.id, state: submissions.state, resumptions: submissions.resumptions })
      .from(submissions)
      .where(isOneOf(submissions.id, sql.placeholder('ids')))
      // All transactions lock in the same order, so that they can't deadlock.
      .orderBy(submissions.id)
      .for('update', lock),
  );
}
