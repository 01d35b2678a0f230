/**
 * How long a transaction may last in the server, from PostgreSQL 17 on.
 *
 * Its other time-outs do not run while it waits in the middle of a statement, for the values of parameters whose types it has told: a client
 * that is lost there would keep its locks for hours, until its connection is found dead.
 */
import type { Client } from './client.ts';
import type { Primary } from './primary.ts';
import { runTransaction } from './transaction.ts';

interface TransactionLimit {
  /** On each connection, before anything else. */
  onEach(primary: Primary): Primary;
  /** By the deadline of the transaction's own statements. */
  run: typeof runTransaction;
}

/** Transactions have few statements, and each ends at its deadline. */
const DEADLINES_PER_TRANSACTION = 6;

/** Behind a pooler, whose connections have other clients too. */
export const NO_TRANSACTION_LIMIT: TransactionLimit = { onEach: (primary) => primary, run: runTransaction };

/** @param usualTimeoutMs the deadline of a statement in most transactions */
export function createTransactionLimit(usualTimeoutMs: number): TransactionLimit {
  /**
   * Older versions do not have the setting. A pooler that left out what this program sets at connecting would give it to other programs,
   * with the connection.
   */
  async function limit(client: Client, timeoutMs: number): Promise<void> {
    const text = `SELECT set_config('transaction_timeout', '${Math.ceil(DEADLINES_PER_TRANSACTION * timeoutMs)}', false)
      FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout' AND source = 'client'
        AND current_setting('transaction_timeout', true) IS NOT NULL`;
    await client.ask((sql) => sql.unsafe(text), usualTimeoutMs);
  }

  /** A connection without it would end no transaction. */
  const limitOrLose = (client: Client) =>
    limit(client, usualTimeoutMs).catch((error: Error) => client.lose(error));

  return {
    onEach: (primary) => ({
      ...primary,
      async connect(options, onLost) {
        const client = await primary.connect(options, onLost);
        // Sent before what follows, which fails where this does.
        void limitOrLose(client);
        return client;
      },
    }),
    async run(client, transaction, work) {
      const { answerTimeoutMs } = transaction;
      if (answerTimeoutMs === usualTimeoutMs) return runTransaction(client, transaction, work);
      // Before BEGIN, because a snapshot may have to come before any query.
      await limit(client, answerTimeoutMs);
      try {
        return await runTransaction(client, transaction, work);
      } finally {
        await limitOrLose(client);
      }
    },
  };
}
