/**
 * The connection to PostgreSQL, through Drizzle for tables and postgres.js for the rest: one pool for single
 * statements (statementPool.ts), one for transactions (transactionPool.ts), and one connection that listens
 * (listener.ts).
 */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { createListener, type Listener } from './listener.ts';
import * as schema from './schema/index.ts';
import { createStatementPool } from './statementPool.ts';
import { createTransactionPool, type OpenClient } from './transactionPool.ts';

export type Db = PostgresJsDatabase<typeof schema>;
export type Tx = Parameters<Parameters<Db['transaction']>[0]>[0];

export interface DatabaseHandle {
  db: Db;
  /** For single statements alone: its own `begin` does not survive a lost connection (transactionPool.ts). */
  sql: postgres.Sql;
  listen: Listener['listen'];
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  /** Connections at most, beside the one that listens: at least 2. */
  poolSize: number;
  /** Shown in pg_stat_activity: tells whose connections these are. */
  applicationName: string;
  /** How long a single statement may go without any answer before its connections are given up; 45 s by default. */
  answerTimeoutMs?: number;
}

/** A database that can't be reached in this time is reported as such, instead of hanging a start. */
const CONNECT_TIMEOUT_SECONDS = 10;
/** Idle connections go back to the server; a quiet instance keeps none. */
const IDLE_TIMEOUT_SECONDS = 60;
/** No statement of ours takes seconds; one that does is stuck, and would hold its row locks. */
const STATEMENT_TIMEOUT_MS = 30_000;
/** Longer than the server lets a statement run, and than it takes to connect before. */
const ANSWER_TIMEOUT_MS = 45_000;
/** A transaction whose process is frozen must not keep others waiting for its locks. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;
/** Closing gives the statements under way this long. */
const CLOSE_TIMEOUT_SECONDS = 5;

export function openDatabase(options: DatabaseOptions): DatabaseHandle {
  const open: OpenClient = (overrides) =>
    postgres(options.url, {
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      idle_timeout: IDLE_TIMEOUT_SECONDS,
      onnotice: () => {},
      // Asked on every new connection, for arrays alone, and nobody would hear of its failure but the process.
      fetch_types: false,
      connection: {
        application_name: options.applicationName,
        statement_timeout: STATEMENT_TIMEOUT_MS,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
      },
      ...overrides,
    });
  const transactionSlots = Math.ceil(options.poolSize / 2);
  const statementSlots = Math.max(options.poolSize - transactionSlots, 1);
  const statements = createStatementPool(
    open,
    statementSlots,
    CLOSE_TIMEOUT_SECONDS,
    options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
  );
  const transactions = createTransactionPool(open, transactionSlots, CLOSE_TIMEOUT_SECONDS);
  const listener = createListener(open);
  const db = drizzle(statements.sql, { schema });
  db.transaction = (work, config) => transactions.run((own) => own.transaction(work, config));
  return {
    db,
    sql: statements.sql,
    listen: listener.listen,
    async close() {
      await listener.close();
      await transactions.close();
      await statements.close();
    },
  };
}
