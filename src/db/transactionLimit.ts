/**
 * Limits how long a transaction may last in the server, from PostgreSQL 17 on.
 *
 * PostgreSQL's other timeouts do not run while it waits in the middle of a statement, for the values of
 * parameters whose types it has told. A client that is lost there would keep its locks for hours, until its
 * connection is found dead.
 */
import type { Client } from './client.ts';
import type { Primary } from './primary.ts';
import { runTransaction } from './transaction.ts';

interface TransactionLimit {
  /** Sets the limit on each new connection, before any other statement. */
  onEach(primary: Primary): Primary;
  /** Runs a transaction with a limit that follows from the deadline of its own statements. */
  run: typeof runTransaction;
}

/** Transactions have few statements, and each ends at its deadline. */
const DEADLINES_PER_TRANSACTION = 6;

/** No limit, for connections behind a pooler, which have other clients too. */
export const NO_TRANSACTION_LIMIT: TransactionLimit = { onEach: (primary) => primary, run: runTransaction };

/** @param usualTimeoutMs the deadline of a statement in most transactions */
export function createTransactionLimit(usualTimeoutMs: number): TransactionLimit {
  /**
   * Sets the limit. Older versions do not have the setting. If a pooler left out the settings of the
   * connection's start, nothing is set: the pooler would give the setting to other programs, with the
   * connection.
   */
  async function limit(client: Client, timeoutMs: number): Promise<void> {
    const text = `SELECT set_config('transaction_timeout', '${Math.ceil(DEADLINES_PER_TRANSACTION * timeoutMs)}', false)
      FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout' AND source = 'client'
        AND current_setting('transaction_timeout', true) IS NOT NULL`;
    await client.ask((sql) => sql.unsafe(text), usualTimeoutMs);
  }

  /** Closes a connection whose limit can't be set, because that connection would end no transaction. */
  const limitOrLose = (client: Client) =>
    limit(client, usualTimeoutMs).catch((error: Error) => client.lose(error));

  return {
    onEach: (primary) => ({
      ...primary,
      async connect(options, onLost) {
        const client = await primary.connect(options, onLost);
        // The statement is sent before all others, and they fail if it fails.
        void limitOrLose(client);
        return client;
      },
    }),
    async run(client, transaction, work) {
      const { answerTimeoutMs } = transaction;
      if (answerTimeoutMs === usualTimeoutMs) return runTransaction(client, transaction, work);
      // Set before BEGIN, because a snapshot may have to come before any query.
      await limit(client, answerTimeoutMs);
      try {
        return await runTransaction(client, transaction, work);
      } finally {
        await limitOrLose(client);
      }
    },
  };
}
