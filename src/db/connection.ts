/**
 * The connection to PostgreSQL: one pool per process, through Drizzle for tables and postgres.js for the rest.
 */
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import * as schema from './schema/index.ts';

export type Db = PostgresJsDatabase<typeof schema>;
export type Tx = Parameters<Parameters<Db['transaction']>[0]>[0];

export interface DatabaseHandle {
  db: Db;
  sql: postgres.Sql;
  /**
   * Subscribes to a NOTIFY channel on a connection of its own. `onListen` is called at the start and after
   * every reconnect: what was notified in between is lost, so that is the moment to catch up.
   * @returns the way to unsubscribe.
   */
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen: () => void,
  ): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  /** Shown in pg_stat_activity: tells whose connections these are. */
  applicationName: string;
}

/** A database that can't be reached in this time is reported as such, instead of hanging a start. */
const CONNECT_TIMEOUT_SECONDS = 10;
/** Idle connections go back to the server; a quiet instance keeps none. */
const IDLE_TIMEOUT_SECONDS = 60;
/** No statement of ours takes seconds; one that does is stuck, and would hold its row locks. */
const STATEMENT_TIMEOUT_MS = 30_000;
/** A transaction whose process is frozen must not keep others waiting for its locks. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;
/** Closing gives the statements under way this long. */
const CLOSE_TIMEOUT_SECONDS = 5;

export function openDatabase(options: DatabaseOptions): DatabaseHandle {
  const sql = postgres(options.url, {
    max: options.poolSize,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    idle_timeout: IDLE_TIMEOUT_SECONDS,
    onnotice: () => {},
    connection: {
      application_name: options.applicationName,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    },
  });
  return {
    db: drizzle(sql, { schema }),
    sql,
    async listen(channel, onNotify, onListen) {
      const subscription = await sql.listen(channel, onNotify, onListen);
      return () => subscription.unlisten();
    },
    close: () => sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
  };
}
