/**
 * The pool for single statements, which survives connections that are reset.
 *
 * After a reset, postgres.js never answers what is asked before it has noticed that the connection is closed,
 * nor what waits behind that. So the first statement that fails for another reason than the server's own
 * answer retires the whole pool: what still waits on it is rejected within moments, and what is asked from then
 * on goes to a new one. When all of them wait and none fails, the first that gets no answer in time does the same.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import type { OpenClient } from './transactionPool.ts';

export interface StatementPool {
  /** Stands for the pool of the moment. For single statements alone. */
  sql: postgres.Sql;
  close(): Promise<void>;
}

/** What was asked of a pool that is retired is rejected after this time. */
const RETIRE_TIMEOUT_SECONDS = 1;

export function createStatementPool(
  open: OpenClient,
  size: number,
  closeTimeoutSeconds: number,
  answerTimeoutMs: number,
): StatementPool {
  let isClosed = false;
  let current = renew();

  function renew(): postgres.Sql {
    const fresh = open({ max: size });
    // Drizzle sets how a client reads dates when it is given one; every later client must read them alike.
    drizzle(fresh);
    return fresh;
  }

  function retire(failed: postgres.Sql): void {
    if (isClosed || failed !== current) return;
    current = renew();
    void failed.end({ timeout: RETIRE_TIMEOUT_SECONDS });
  }

  /** Watches without asking: a query of postgres.js is sent when somebody awaits it. */
  function watched(query: unknown, asked: postgres.Sql): unknown {
    if (!isQuery(query)) return query;
    const { resolve, reject } = query;
    // What nobody awaits is never asked: a part of another statement.
    const timer = setTimeout(() => query.executed && retire(asked), answerTimeoutMs);
    timer.unref();
    query.resolve = (answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    query.reject = (error) => {
      clearTimeout(timer);
      if (!(error instanceof postgres.PostgresError)) retire(asked);
      reject(error);
    };
    return query;
  }

  const sql = new Proxy(current, {
    apply: (_target, _self, args: Parameters<typeof current>) => watched(current(...args), current),
    get: (_target, name) => {
      const asked = current;
      if (name !== 'unsafe') return Reflect.get(asked, name, asked) as unknown;
      return (...args: Parameters<typeof current.unsafe>) => watched(asked.unsafe(...args), asked);
    },
  });
  return {
    sql,
    close() {
      isClosed = true;
      return current.end({ timeout: closeTimeoutSeconds });
    },
  };
}

interface Query {
  executed: boolean;
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

function isQuery(value: unknown): value is Query {
  if (typeof value !== 'object' || value === null) return false;
  const { resolve, reject } = value as Partial<Query>;
  return typeof resolve === 'function' && typeof reject === 'function';
}
