/**
 * Advisory locks that hold across all instances for as long as a piece of work runs.
 */
import { sql } from 'drizzle-orm';
import pLimit from 'p-limit';
import type { Db, Tx } from './connection.ts';
import { getOrMake } from '../lib/getOrMake.ts';

/**
 * Every numbered advisory lock of the product, in one place so that no two uses share a number. A number never
 * changes: during an update, servers of two versions exclude each other by it.
 */
export const ADVISORY_LOCKS = {
  migrations: 71_001,
  indexerRegistration: 71_002,
  channelKeys: 71_003,
} as const;

/** Longer than any work under a lock. PostgreSQL ends the transaction of longer work, and so the lock. */
const MAX_WORK_MS = 60_000;

/**
 * A wait for a lock occupies a connection, so each process has one waiting caller per lock in the database.
 */
const turns = new Map<string, ReturnType<typeof pLimit>>();

/** Runs `work` under the lock. The lock is in its own transaction, so it ends with process or connection. */
export async function withAdvisoryLock<T>(
  db: Db,
  lock: keyof typeof ADVISORY_LOCKS,
  work: () => Promise<T>,
): Promise<T> {
  const turn = getOrMake(turns, lock, () => pLimit(1));
  const outcome = await turn(() =>
    db.transaction(
      async (tx) => {
        // The transaction is idle during the work, which may call other services.
        await tx.execute(sql.raw(`SET LOCAL idle_in_transaction_session_timeout = ${MAX_WORK_MS}`));
        await tx.execute(sql`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS[lock]})`);
        return { value: await work() };
      },
      { statementTimeoutMs: MAX_WORK_MS },
    ),
  );
  return outcome.value;
}

/** Serializes transactions that lock the same name. A name begins with its kind, as in `receipt:…`. */
export async function lockName(tx: Pick<Tx, 'execute'>, name: string): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
}
