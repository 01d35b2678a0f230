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
  /** For long statements. Set before BEGIN, because a snapshot may have to come before any query. */
  runWithout: typeof runTransaction;
}

/** Each statement of a transaction has a deadline, so all of it takes far less. */
const DEADLINES_PER_TRANSACTION = 6;

export function createTransactionLimit(answerTimeoutMs: number): TransactionLimit {
  const limitMs = DEADLINES_PER_TRANSACTION * answerTimeoutMs;

  /** Older versions do not have the setting. */
  async function limit(client: Client, ms: number): Promise<void> {
    const text = `SELECT set_config('transaction_timeout', '${ms}', false) WHERE current_setting('transaction_timeout', true) IS NOT NULL`;
    await client.ask((sql) => sql.unsafe(text), answerTimeoutMs);
  }

  return {
    onEach: (primary) => ({
      ...primary,
      async connect(options, onLost) {
        const client = await primary.connect(options, onLost);
        // What follows does not wait for the answer, and fails where the connection does.
        limit(client, limitMs).catch(() => {});
        return client;
      },
    }),
    async runWithout(client, transaction, work) {
      await limit(client, 0);
      try {
        return await runTransaction(client, transaction, work);
      } finally {
        await limit(client, limitMs).catch(() => {});
      }
    },
  };
}
