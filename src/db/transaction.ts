/**
 * A transaction on one client: BEGIN, the work, COMMIT or ROLLBACK, with a deadline for each statement. The `begin` of
 * postgres.js has no deadline, and sends statements after the connection is gone (see client.ts).
 */
import type postgres from 'postgres';
import type { Client } from './client.ts';
import { lazyQuery, type SqlForDrizzle } from './lazyQuery.ts';
import { refusedByDatabase } from './refusedByDatabase.ts';

interface TransactionOptions {
  /** BEGIN, and settings that last for the transaction. */
  begin: string;
  /** How long each statement may go without an answer. */
  answerTimeoutMs: number;
  /** Whether the connection should keep a statement prepared (frequentStatements.ts). */
  isFrequent: (text: string) => boolean;
}

/** SQLSTATE of every statement after the first failed one: it hides the cause. */
const IN_FAILED_TRANSACTION = '25P02';

/**
 * Resolves when the transaction is committed. When the client is lost it rejects at once, without waiting for the
 * work, whose later statements are rejected; a COMMIT under way may have taken effect or not.
 */
export async function runTransaction<T>(
  client: Client,
  { begin, answerTimeoutMs, isFrequent }: TransactionOptions,
  work: (sql: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  const ask = (text: string) => client.ask((sql) => sql.unsafe(text), answerTimeoutMs);
  let isOver = false;
  let savepoints = 0;
  const requireOpen = () => {
    if (isOver) throw new Error('The transaction is over; this statement was not sent');
  };

  async function runScope<R>(run: (sql: postgres.TransactionSql) => Promise<R>): Promise<R> {
    let firstFailure: unknown;
    const unsafe: SqlForDrizzle['unsafe'] = (text, parameters) =>
      lazyQuery(async (send) => {
        requireOpen();
        try {
          return await client.ask(
            (sql) => send(sql.unsafe(text, parameters, { prepare: isFrequent(text) })),
            answerTimeoutMs,
          );
        } catch (error) {
          firstFailure ??= error;
          throw error;
        }
      });
    const scope = { unsafe, savepoint } as unknown as postgres.TransactionSql;
    try {
      const result = await run(scope);
      // After a failed statement PostgreSQL refuses to commit, even when the work caught the error.
      if (firstFailure !== undefined) throw firstFailure;
      return result;
    } catch (error) {
      throw isAboutEarlierFailure(error) ? (firstFailure ?? error) : error;
    }
  }

  async function savepoint<R>(run: (sql: postgres.TransactionSql) => Promise<R>): Promise<R> {
    requireOpen();
    const name = `s${savepoints++}`;
    // The work does not wait for it: should it fail, PostgreSQL refuses every statement after it.
    const isSet = ask(`SAVEPOINT ${name}`);
    try {
      const [result] = await Promise.all([runScope(run), isSet]);
      return result;
    } catch (error) {
      await isSet;
      await ask(`ROLLBACK TO ${name}`);
      throw error;
    }
  }

  await ask(begin);
  let result: T;
  try {
    result = await client.untilLost(runScope(work));
  } catch (error) {
    isOver = true;
    // A failed ROLLBACK closes the connection, which ends the transaction.
    if (!client.isLost()) await ask('ROLLBACK').catch((cause: Error) => client.lose(cause));
    throw error;
  }
  isOver = true;
  await ask('COMMIT');
  return result;
}

function isAboutEarlierFailure(error: unknown): boolean {
  return refusedByDatabase(error)?.code === IN_FAILED_TRANSACTION;
}
