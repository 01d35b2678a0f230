/**
 * Named locks over all instances, held by Postgres for as long as a piece of work runs.
 */
import { sql } from 'drizzle-orm';
import pLimit from 'p-limit';
import type { Db } from './connection.ts';

/** Every advisory lock of the product, so that no two uses share a number by accident. */
export const ADVISORY_LOCKS = {
  migrations: 71_001,
  indexerRegistration: 71_002,
} as const;

/** Waiting for a lock costs a connection: within a process one waits for all, or they would use up the pool. */
const turns = new Map<string, ReturnType<typeof pLimit>>();

/**
 * Runs `work` while holding the lock; waits for others that hold it. The lock lives in a transaction of its
 * own on one connection, so that it falls with the process or the connection, never staying behind.
 */
export async function withAdvisoryLock<T>(
  db: Db,
  lock: keyof typeof ADVISORY_LOCKS,
  work: () => Promise<T>,
): Promise<T> {
  const turn = turns.get(lock) ?? pLimit(1);
  turns.set(lock, turn);
  const outcome = await turn(() =>
    db.transaction(async (tx) => {
      await tx.execute(sql`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS[lock]})`);
      return { value: await work() };
    }),
  );
  return outcome.value;
}
