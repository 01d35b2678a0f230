/**
 * One connection to PostgreSQL that never reconnects.
 *
 * A client of postgres.js reconnects while earlier statements are open: it may send the rest of a transaction
 * on the new connection, where the rest takes effect alone (porsager/postgres#1155), leave queued statements
 * without an answer (#1186, #1215), or write to a closed socket and end the process (#1133). So each client
 * is allowed one connection, and its unanswered statements are rejected when the connection ends. Tests:
 * crash/lostCommit, crash/resetConnections.
 *
 * A connection can also fall silent: it stays open without answers. postgres.js would wait for ever. Here
 * each statement has a deadline, and a missed deadline closes the connection. Test: crash/silentConnections.
 */
import type { Socket } from 'node:net';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { endpointOf } from '../lib/databaseUrl.ts';
import { asConnectionLost, ConnectionLost } from './connectionLost.ts';
import { createOpenStatements, type OpenStatements } from './openStatements.ts';
import { openSocket, type SocketAddress } from './socket.ts';

/** Options of postgres.js that its types leave out. */
export type ClientOptions = postgres.Options<Record<string, never>> & {
  onnotify?: (channel: string, payload: string) => void;
};
export type OnLost = (reason: Error) => void;
type AllOptions = ClientOptions & { socket: (address: SocketAddress) => Promise<Socket> };

export interface Client extends Omit<OpenStatements, 'untilAnswered' | 'rejectAll'> {
  /**
   * Sends the statement that `statement` builds and waits for its answer.
   * @throws ConnectionLost when the connection ends, or no answer comes in time; the connection is then
   * closed
   */
  ask<T>(statement: (sql: postgres.Sql) => PromiseLike<T>, timeoutMs: number): Promise<T>;
  isLost(): boolean;
  /** The moment of the client's creation, by `performance.now()`. */
  openedAt: number;
  /** Closes the connection at once; open statements are rejected with `reason`. */
  lose(reason: Error): void;
  /** Closes the connection in order, within CLOSE_TIMEOUT_MS. */
  end(): Promise<void>;
}

/** A reachable server closes at once; a silent one never does. */
const CLOSE_TIMEOUT_MS = 1000;

/** Options of every client for postgres.js. */
const ONE_CONNECTION = {
  onnotice: () => {},
  // postgres.js would query array types on each connection; a failure of that query would end the process.
  fetch_types: false,
  // Named statements are lost behind a pooler, so only callers without a pooler ask for them.
  prepare: false,
  // The pool decides when a connection has lived long enough.
  idle_timeout: 0,
  max_lifetime: 0,
} satisfies ClientOptions;

/** @param url the address of one server */
export function createClient(url: string, options: ClientOptions, onLost: OnLost = () => {}): Client {
  let noteClosed = () => {};
  const whenClosed = new Promise<void>((resolve) => (noteClosed = resolve));
  const statements = createOpenStatements(lose);
  let socket: Socket | null = null;
  let hasConnected = false;
  let isLost = false;

  async function openOnce(address: SocketAddress): Promise<Socket> {
    if (hasConnected || isLost) throw new ConnectionLost('The connection to the database ended');
    hasConnected = true;
    try {
      return await openSocket(address, (opening) => {
        socket = opening;
      });
    } catch (error) {
      const failure = asConnectionLost(error as Error);
      lose(failure);
      throw failure;
    }
  }

  function lose(reason: Error): void {
    if (isLost) return;
    isLost = true;
    socket?.destroy();
    statements.rejectAll(reason);
    onLost(reason);
  }

  function closeNow(reason: string): void {
    lose(new ConnectionLost(reason));
    noteClosed();
  }

  const onclose = () => closeNow('The connection to the database ended');
  const own: AllOptions = {
    ...ONE_CONNECTION,
    ...options,
    ...endpointOf(url),
    max: 1,
    socket: openOnce,
    onclose,
  };
  const sql = postgres(url, own);
  // Drizzle sets the date parsers of a client that it is given.
  drizzle(sql);

  return {
    ask(statement, timeoutMs) {
      if (isLost) return Promise.reject(new ConnectionLost('The connection to the database ended'));
      return statements.untilAnswered(statement(sql), timeoutMs);
    },
    untilLost: statements.untilLost,
    openedAt: performance.now(),
    isLost: () => isLost,
    isSilent: statements.isSilent,
    answeredAt: statements.answeredAt,
    lose,
    async end() {
      if (isLost || socket === null) return lose(new ConnectionLost('The connection was closed'));
      void sql.end({ timeout: 0 });
      const closeTimer = setTimeout(closeNow, CLOSE_TIMEOUT_MS, 'The connection was closed');
      await whenClosed;
      clearTimeout(closeTimer);
    },
  };
}
