/**
 * Counts a database's statements that wait for a lock of another transaction.
 */
import type { DatabaseHandle } from '../../../src/db/connection.ts';

export async function hasLockWait(handle: Pick<DatabaseHandle, 'sql'>): Promise<boolean> {
  return (await countLockWaits(handle)) > 0;
}

export async function countLockWaits({ sql }: Pick<DatabaseHandle, 'sql'>): Promise<number> {
  const [waiting] = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return waiting?.count ?? 0;
}
