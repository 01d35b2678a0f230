/**
 * Transactions, each on a connection that is nobody else's while it lasts, and that dies with it when it is lost.
 *
 * A pooled `begin` of postgres.js does not end when its connection does: what the work asks next, and the
 * ROLLBACK after its failure, are sent on the connection that takes the lost one's place. There they run by
 * themselves, or in the middle of another's transaction: half of a settlement would be committed, or somebody
 * else's work undone. So each transaction borrows a client with one connection. When that closes, the client is
 * thrown away, the work is refused every further statement, and its end, which nobody waits for any more, is
 * never told to postgres.js.
 */
import { TransactionRollbackError } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import pLimit from 'p-limit';
import type postgres from 'postgres';
import { DomainError } from '../errors.ts';
import type { Db } from './connection.ts';
import * as schema from './schema/index.ts';

/** What the declared options of postgres.js leave out. */
type ClientOptions = postgres.Options<Record<string, never>> & {
  onnotify?: (channel: string, payload: string) => void;
};
export type OpenClient = (overrides: ClientOptions) => postgres.Sql;

export interface TransactionPool {
  /** Runs `work` with a database of its own; waits while all are lent. */
  run<T>(work: (own: Db) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface Client {
  sql: postgres.Sql;
  db: Db;
  isLost: boolean;
}

/** Thrown to the work of a transaction whose connection is gone; its outcome is told by `begin` itself. */
class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

export function createTransactionPool(
  open: OpenClient,
  size: number,
  closeTimeoutSeconds: number,
): TransactionPool {
  const limit = pLimit(size);
  const clients = new Set<Client>();
  const idle: Client[] = [];
  let isClosed = false;

  function make(): Client {
    const sql = open({ max: 1, onclose: () => lose(client) });
    const client: Client = {
      sql,
      db: drizzle(
        guardTransactions(sql, () => client.isLost),
        { schema },
      ),
      isLost: false,
    };
    clients.add(client);
    return client;
  }

  function lose(client: Client): void {
    if (client.isLost) return;
    client.isLost = true;
    clients.delete(client);
    const position = idle.indexOf(client);
    if (position >= 0) idle.splice(position, 1);
    void client.sql.end({ timeout: 0 });
  }

  async function borrow<T>(work: (own: Db) => Promise<T>): Promise<T> {
    if (isClosed) throw new Error('The connection to the database was closed');
    const client = idle.pop() ?? make();
    try {
      const result = await work(client.db);
      if (!client.isLost) idle.push(client);
      return result;
    } catch (error) {
      // After our own refusal the connection is as good as new. After anything else, something of the work may
      // still be under way on it.
      if (isOwnRefusal(error) && !client.isLost) idle.push(client);
      else lose(client);
      throw error;
    }
  }

  return {
    run: (work) => limit(() => borrow(work)),
    async close() {
      isClosed = true;
      await Promise.all([...clients].map(({ sql }) => sql.end({ timeout: closeTimeoutSeconds })));
      clients.clear();
    },
  };
}

function isOwnRefusal(error: unknown): boolean {
  return error instanceof DomainError || error instanceof TransactionRollbackError;
}

/** The client as Drizzle sees it: its transactions end, for good, with the connection that they began on. */
function guardTransactions(sql: postgres.Sql, isLost: () => boolean): postgres.Sql {
  type Work = (tx: postgres.TransactionSql) => Promise<unknown>;
  const begin = (...args: [Work] | [string, Work]) => {
    const work = args.at(-1) as Work;
    const options = args.length === 2 ? args[0] : '';
    return sql.begin(options, (tx) => untilLost(work(guardStatements(tx, isLost)), isLost));
  };
  return new Proxy(sql, {
    get: (target, name, receiver) => (name === 'begin' ? begin : Reflect.get(target, name, receiver)),
  });
}

/** Drizzle sends every statement through `unsafe`. */
function guardStatements(tx: postgres.TransactionSql, isLost: () => boolean): postgres.TransactionSql {
  return new Proxy(tx, {
    get: (target, name, receiver) => {
      const value: unknown = Reflect.get(target, name, receiver);
      if (name === 'unsafe') {
        return (...args: Parameters<typeof tx.unsafe>) => {
          if (isLost()) throw new ConnectionLost('The connection of this transaction was lost');
          return target.unsafe(...args);
        };
      }
      if (name === 'savepoint') {
        return (work: (nested: postgres.TransactionSql) => Promise<unknown>) =>
          target.savepoint((nested) => work(guardStatements(nested, isLost)));
      }
      return value;
    },
  });
}

/** Passes the end of the work on, unless its connection is lost by then. */
async function untilLost<T>(work: Promise<T>, isLost: () => boolean): Promise<T> {
  const never = new Promise<never>(() => {});
  try {
    const value = await work;
    return isLost() ? await never : value;
  } catch (error) {
    return isLost() ? await never : Promise.reject(error);
  }
}
