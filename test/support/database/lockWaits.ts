/**
 * Statements of a database that wait for a lock which another transaction holds.
 */
import type { DatabaseHandle } from '../../../src/db/connection.ts';

export async function hasLockWait({ sql }: Pick<DatabaseHandle, 'sql'>): Promise<boolean> {
  const waiting = await sql`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return waiting.length > 0;
}
