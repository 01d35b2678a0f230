/**
 * A transaction on one client: BEGIN, the work, COMMIT or ROLLBACK, with a deadline for each statement. The
 * `begin` of postgres.js has no deadline, and sends statements after the connection is lost (see client.ts).
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

type Work<T> = (sql: postgres.TransactionSql) => Promise<T>;

/**
 * Resolves when the transaction is committed. When the client is lost it rejects at once, without waiting for
 * the work, whose later statements are rejected; a COMMIT under way may have taken effect or not.
 */
export async function runTransaction<T>(
  client: Client,
  options: TransactionOptions,
  work: Work<T>,
): Promise<T> {
  const ask = (text: string) => client.ask((sql) => sql.unsafe(text), options.answerTimeoutMs);
  const runScope = createScopes(client, options, ask);
  await ask(options.begin);
  let result: T;
  try {
    result = await client.untilLost(runScope(work, () => false));
  } catch (error) {
    // A failed ROLLBACK closes the connection, which ends the transaction.
    if (!client.isLost()) await ask('ROLLBACK').catch((cause: Error) => client.lose(cause));
    throw error;
  }
  const { command } = await ask('COMMIT');
  // PostgreSQL answers ROLLBACK, without an error, when a statement failed that the work did not wait for.
  if (command === 'ROLLBACK') {
    throw new Error('The transaction was rolled back: a statement of it has failed');
  }
  return result;
}

/**
 * Runs the work of the transaction, and within it the work of its savepoints. Statements that the work sends
 * after its end are refused: the connection may have another transaction by then, and after the rollback of a
 * savepoint, such statements would be kept.
 */
function createScopes(
  client: Client,
  { answerTimeoutMs, isFrequent }: TransactionOptions,
  ask: (text: string) => Promise<unknown>,
): <R>(run: Work<R>, isOuterOver: () => boolean) => Promise<R> {
  let savepoints = 0;

  async function runScope<R>(run: Work<R>, isOuterOver: () => boolean): Promise<R> {
    let firstFailure: unknown;
    let hasEnded = false;
    const isOver = () => hasEnded || isOuterOver();
    const requireOpen = () => {
      if (isOver()) throw new Error('The transaction is over; this statement was not sent');
    };
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
    const savepoint = async (within: Work<unknown>) => {
      requireOpen();
      return runWithin(within, isOver);
    };
    const scope = { unsafe, savepoint } as unknown as postgres.TransactionSql;
    try {
      const result = await run(scope);
      // After a failed statement PostgreSQL refuses to commit, even when the work caught the error.
      if (firstFailure !== undefined) throw firstFailure;
      return result;
    } catch (error) {
      throw isAboutEarlierFailure(error) ? (firstFailure ?? error) : error;
    } finally {
      hasEnded = true;
    }
  }

  async function runWithin<R>(run: Work<R>, isOver: () => boolean): Promise<R> {
    const name = `s${savepoints++}`;
    // The work does not wait for the SAVEPOINT: if it fails, PostgreSQL refuses every statement after it.
    const isSet = ask(`SAVEPOINT ${name}`);
    try {
      const [result] = await Promise.all([runScope(run, isOver), isSet]);
      return result;
    } catch (error) {
      await isSet;
      if (!isOver()) await ask(`ROLLBACK TO ${name}`);
      throw error;
    }
  }

  return runScope;
}

function isAboutEarlierFailure(error: unknown): boolean {
  return refusedByDatabase(error)?.code === IN_FAILED_TRANSACTION;
}
