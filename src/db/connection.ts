/**
 * The connections to PostgreSQL: a pool for statements and transactions (pool.ts), used through Drizzle, and
 * one connection that listens (listener.ts).
 *
 * The pool keeps no session state, so it works behind a pooler in transaction mode. LISTEN and the
 * migrations' lock need a session and use `directUrl`.
 */
import type { PgTransactionConfig } from 'drizzle-orm/pg-core';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import { createFrequentStatements } from './frequentStatements.ts';
import { lazyQuery, type SqlForDrizzle } from './lazyQuery.ts';
import { createListener, type Listener, type ListenerLog } from './listener.ts';
import { createPool, type PoolLoad } from './pool.ts';
import { createPrimary } from './primary.ts';
import { createTransactionLimit, NO_TRANSACTION_LIMIT } from './transactionLimit.ts';

export type Tx = Parameters<Parameters<PostgresJsDatabase['transaction']>[0]>[0];

interface TransactionConfig extends PgTransactionConfig {
  /** Deadline of one statement in milliseconds; 8 s by default. For statements that read whole tables. */
  statementTimeoutMs?: number;
}

/** Drizzle on the pool. A transaction rejects with NoFreeConnection when no connection is free in time. */
export type Db = PostgresJsDatabase & {
  transaction<T>(work: (tx: Tx) => Promise<T>, config?: TransactionConfig): Promise<T>;
};

/** Single statements in SQL. */
interface Statements {
  <Rows extends readonly postgres.Row[] = postgres.Row[]>(
    text: TemplateStringsArray,
    ...parameters: postgres.SerializableParameter[]
  ): Promise<Rows>;
  /** A text without parameters: one statement, or several in one transaction. */
  unsafe(text: string): Promise<postgres.Row[]>;
}

/**
 * A statement of a hot path: a connection parses and plans it once. Behind a pooler in transaction mode,
 * where named statements are lost, it is sent like every other.
 */
type PreparedStatement = <Row extends postgres.Row>(
  text: string,
  parameters: postgres.SerializableParameter[],
) => Promise<Row[]>;

export interface DatabaseHandle extends Pick<Listener, 'listen' | 'isListening'> {
  db: Db;
  sql: Statements;
  prepared: PreparedStatement;
  load(): PoolLoad;
  /** Takes at most a few seconds, whatever is under way. */
  close(): Promise<void>;
}

interface DatabaseOptions {
  /** With several servers, the one that takes writes is used (primary.ts). */
  url: string;
  /** An address with sessions, when `url` is a pooler in transaction mode; `url` by default. */
  directUrl?: string | undefined;
  /** Maximum connections, not counting the one that listens; at least 2. */
  poolSize: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** How long a statement may go without an answer before its connection is closed; 10 s by default. */
  answerTimeoutMs?: number;
  log?: ListenerLog | undefined;
}

/** How long a statement may go without an answer: the longest delay that a silent connection causes. */
const ANSWER_TIMEOUT_MS = 10_000;
/**
 * The server cancels a statement before the client gives it up, so that it does not run on without its
 * client. It also ends a transaction that waits for its client, so that its locks are free for a retry.
 */
const SERVER_TIMEOUT_SHARE = 0.8;
/**
 * Settings that the program relies on and that the database's administrator may have changed: the format of
 * the values that it reads, and the isolation by which a statement after a lock sees what the lock's last
 * holder committed.
 */
export const ASSUMED_SETTINGS = {
  bytea_output: 'hex',
  datestyle: 'ISO',
  default_transaction_isolation: 'read committed',
} as const;

/**
 * The schema of the tables and functions. Statements name tables alone, and the database's functions look
 * here. A role or database may have another schema earlier in its search path.
 */
export const SCHEMA = 'public';

/**
 * The planner's cost of reading a page by an index, relative to reading the next page of a table.
 * PostgreSQL's default of 4 is that of a disk with a moving head. With it, a connection that plans a
 * statement while the table has a few pages reads the whole table, and keeps that plan until the table is
 * analysed.
 */
const PAGE_BY_INDEX_COST = 1.1;

/** Settings sent at connecting, if there is no pooler. */
const OWN_SETTINGS = { ...ASSUMED_SETTINGS, search_path: SCHEMA, random_page_cost: PAGE_BY_INDEX_COST };

/** Opens no connection before the first statement or `listen`; `close` closes all of them. */
export function openDatabase(options: DatabaseOptions): DatabaseHandle {
  const { url, directUrl = url, poolSize: size, answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
  const serverMs = Math.ceil(answerTimeoutMs * SERVER_TIMEOUT_SHARE);
  const serverTimeouts = { statement_timeout: serverMs, idle_in_transaction_session_timeout: serverMs };
  const isPooled = directUrl !== url;
  const application_name = options.applicationName;
  // A pooler refuses settings at connect, and would give one session's settings to others.
  const settings = isPooled ? {} : { ...serverTimeouts, ...OWN_SETTINGS };
  const client = { connection: { application_name, ...settings }, prepare: !isPooled };
  const limit = isPooled ? NO_TRANSACTION_LIMIT : createTransactionLimit(answerTimeoutMs);
  const primary = createPrimary(url);
  const pool = createPool({ primary: limit.onEach(primary), client, size, answerTimeoutMs });
  const isFrequent = createFrequentStatements();
  const direct = isPooled ? createPrimary(directUrl) : primary;
  const listener = createListener(direct, { connection: { application_name } }, options.log);

  /** Begins transactions whose statements may take `statementTimeoutMs`; the common deadline by default. */
  function beginWithin(statementTimeoutMs?: number): Begin {
    const local = {
      ...(isPooled && serverTimeouts),
      ...(statementTimeoutMs !== undefined && { statement_timeout: statementTimeoutMs }),
    };
    const lines = Object.entries(local).map(([name, value]) => `SET LOCAL ${name} = ${value}`);
    const transaction = {
      begin: ['BEGIN', ...lines].join('; '),
      answerTimeoutMs:
        statementTimeoutMs === undefined ? answerTimeoutMs : statementTimeoutMs / SERVER_TIMEOUT_SHARE,
      isFrequent,
    };
    return (work) => pool.lend((client) => limit.run(client, transaction, work));
  }

  const drizzleWith = (begin: Begin) =>
    drizzleOn({
      unsafe: (text, parameters) =>
        lazyQuery((send) =>
          pool.ask((sql) => send(sql.unsafe(text, parameters, { prepare: isFrequent(text) }))),
        ),
      begin,
    });
  const usual = drizzleWith(beginWithin());
  const transactionOfUsual = usual.transaction.bind(usual);
  const db: Db = Object.assign(usual, {
    transaction: <T>(work: (tx: Tx) => Promise<T>, config: TransactionConfig = {}) => {
      const { statementTimeoutMs, ...rest } = config;
      // Drizzle turns this object into SET TRANSACTION, also when it is empty.
      const drizzleConfig = Object.keys(rest).length > 0 ? rest : undefined;
      return statementTimeoutMs === undefined
        ? transactionOfUsual(work, drizzleConfig)
        : drizzleWith(beginWithin(statementTimeoutMs)).transaction(work, drizzleConfig);
    },
  });
  const statements = (text: TemplateStringsArray, ...parameters: postgres.SerializableParameter[]) =>
    pool.ask((sql) => sql(text, ...parameters));
  return {
    db,
    sql: Object.assign(statements as Statements, {
      unsafe: (text: string) => pool.ask((sql) => sql.unsafe(text)),
    }),
    prepared: <Row extends postgres.Row>(text: string, parameters: postgres.SerializableParameter[]) =>
      pool.ask((sql) => sql.unsafe<Row[]>(text, parameters as postgres.ParameterOrJSON<never>[], PREPARED)),
    ...listener,
    load: pool.load,
    async close() {
      await Promise.all([listener.close(), pool.close()]);
    },
  };
}

const PREPARED = { prepare: true };

type Begin = <T>(work: (tx: postgres.TransactionSql) => Promise<T>) => Promise<T>;

/** Drizzle over this module's statements and transactions instead of a postgres.js client. */
function drizzleOn(sql: SqlForDrizzle & { begin: Begin }): PostgresJsDatabase {
  // Drizzle writes date parsers into the client that it is given; client.ts has set them on the real ones.
  const client = { ...sql, options: { parsers: {}, serializers: {} } };
  // Drizzle gets no tables: each transaction would make objects of them, for queries that are not used.
  return drizzle(client as unknown as postgres.Sql);
}
