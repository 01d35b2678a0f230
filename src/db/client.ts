/**
 * One connection to PostgreSQL that never reconnects.
 *
 * A client of postgres.js reconnects while earlier statements are open: it may send the rest of a transaction on the
 * new connection, where it takes effect by itself (porsager/postgres#1155), leave queued statements without an answer
 * (#1186, #1215), or write to a closed socket and end the process (#1133). So each client is allowed one connection,
 * and what is unanswered when that ends is rejected. Tests: crash/lostCommit, crash/resetConnections.
 *
 * A connection can also fall silent: open, without answers. postgres.js waits for ever; here each statement has a
 * deadline, and missing it closes the connection. Test: crash/silentConnections.
 */
import { connect, type Socket } from 'node:net';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';

/** Options of postgres.js that its types leave out. */
export type ClientOptions = postgres.Options<Record<string, never>> & {
  onnotify?: (channel: string, payload: string) => void;
};
type AllOptions = ClientOptions & { socket: (address: SocketAddress) => Promise<Socket> };

export interface Client {
  /**
   * Sends what `statement` builds and waits for its answer.
   * @throws ConnectionLost, or the socket's error, when no answer comes in time; the connection is then closed.
   */
  ask<T>(statement: (sql: postgres.Sql) => PromiseLike<T>, timeoutMs: number): Promise<T>;
  /** Settles as the work does, or rejects at once when the connection is lost first. */
  untilLost<T>(work: Promise<T>): Promise<T>;
  isLost(): boolean;
  /** The connection was given up because an answer did not come in time. */
  isSilent(): boolean;
  /** By `performance.now()`. */
  openedAt: number;
  /** The moment of the last answer, by `performance.now()`. */
  answeredAt(): number;
  /** Closes the connection at once; open statements are rejected with `reason`. */
  lose(reason: Error): void;
  /** Closes the connection in order, within CLOSE_TIMEOUT_MS. */
  end(): Promise<void>;
}

/** The connection ended, or gave no answer in time: the statement may have taken effect or not. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/** What waits for the connection; statements have a deadline by `performance.now()`, a transaction's work has none. */
interface Pending {
  reject: (reason: Error) => void;
  timeoutMs: number;
  deadline: number;
}

/** A server that is there closes at once; a silent one never does. */
const CLOSE_TIMEOUT_MS = 1000;

export function createClient(url: string, options: ClientOptions, onLost: () => void = () => {}): Client {
  const pending = new Set<Pending>();
  /** Of the one timer: the first deadline of what was pending when it was set. */
  let timer: NodeJS.Timeout | undefined;
  let wakesAt = Number.POSITIVE_INFINITY;
  let noteClosed = () => {};
  const whenClosed = new Promise<void>((resolve) => (noteClosed = resolve));
  let socket: Socket | null = null;
  let hasConnected = false;
  let isLost = false;
  let isSilent = false;
  let answeredAt = performance.now();

  const own: AllOptions = {
    onnotice: () => {},
    // postgres.js would query array types on every new connection, and a failure of that query would end the process.
    fetch_types: false,
    // Named statements are lost behind a pooler: only what knows that there is none asks for them.
    prepare: false,
    // The pool decides when a connection has lived long enough.
    idle_timeout: 0,
    max_lifetime: 0,
    ...options,
    max: 1,
    socket: openSocket,
    onclose: () => {
      lose(new ConnectionLost('The connection to the database ended'));
      noteClosed();
    },
  };
  const sql = postgres(url, own);
  // Drizzle sets how a client reads dates when it is given one.
  drizzle(sql);

  async function openSocket(address: SocketAddress): Promise<Socket> {
    if (hasConnected || isLost) throw new ConnectionLost('The connection to the database ended');
    hasConnected = true;
    try {
      return await connectToFirst(address, (opening) => {
        socket = opening;
      });
    } catch (error) {
      lose(error as Error);
      throw error;
    }
  }

  function lose(reason: Error): void {
    if (isLost) return;
    isLost = true;
    clearTimeout(timer);
    socket?.destroy();
    for (const { reject } of pending) reject(reason);
    onLost();
  }

  /** One timer for all that is pending: an answer leaves it as it is, and when it fires it is set for what waits then. */
  function wakeAt(deadline: number): void {
    if (deadline >= wakesAt) return;
    clearTimeout(timer);
    wakesAt = deadline;
    timer = setTimeout(checkDeadlines, deadline - performance.now()).unref();
  }

  function checkDeadlines(): void {
    wakesAt = Number.POSITIVE_INFINITY;
    let first: Pending | null = null;
    for (const one of pending) if (first === null || one.deadline < first.deadline) first = one;
    if (first === null) return;
    if (first.deadline > performance.now()) return wakeAt(first.deadline);
    isSilent = true;
    lose(new ConnectionLost(`The database gave no answer in ${first.timeoutMs} ms`));
  }

  return {
    ask(statement, timeoutMs) {
      if (isLost) return Promise.reject(new ConnectionLost('The connection to the database ended'));
      return new Promise((resolve, reject) => {
        const query = statement(sql);
        const one: Pending = { reject, timeoutMs, deadline: performance.now() + timeoutMs };
        pending.add(one);
        wakeAt(one.deadline);
        query.then(
          (answer) => {
            answeredAt = performance.now();
            pending.delete(one);
            return resolve(answer);
          },
          (error: Error) => {
            pending.delete(one);
            if (isAnswer(error)) answeredAt = performance.now();
            else lose(error);
            reject(error);
          },
        );
      });
    },
    async untilLost(work) {
      const one: Pending = { reject: () => {}, timeoutMs: 0, deadline: Number.POSITIVE_INFINITY };
      const lost = new Promise<never>((_, reject) => (one.reject = reject));
      pending.add(one);
      try {
        return await Promise.race([work, lost]);
      } finally {
        pending.delete(one);
      }
    },
    openedAt: performance.now(),
    isLost: () => isLost,
    isSilent: () => isSilent,
    answeredAt: () => answeredAt,
    lose,
    async end() {
      if (isLost || socket === null) return lose(new ConnectionLost('The connection was closed'));
      void sql.end({ timeout: 0 });
      const closeTimer = setTimeout(() => {
        lose(new ConnectionLost('The connection was closed'));
        noteClosed();
      }, CLOSE_TIMEOUT_MS);
      await whenClosed;
      clearTimeout(closeTimer);
    },
  };
}

/** The server refused the statement; after a FATAL refusal it ends the connection as well. */
function isAnswer(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR';
}

interface SocketAddress {
  host: string[];
  port: number[];
  /** Of a Unix socket; false for TCP. */
  path: string | false;
}

/** An address may name several servers; the first one that can be connected to is taken. */
async function connectToFirst(
  { host: hosts, port: ports, path }: SocketAddress,
  onOpening: (socket: Socket) => void,
): Promise<Socket> {
  if (path) return opened(connect({ path }), onOpening);
  let failure: unknown;
  for (const [i, host] of hosts.entries()) {
    try {
      const socket = connect({ host, port: ports[i] ?? 5432, noDelay: true });
      // Where postgres.js looks for the name that a certificate must have.
      return await opened(Object.assign(socket, { host }), onOpening);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function opened(socket: Socket, onOpening: (socket: Socket) => void): Promise<Socket> {
  onOpening(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
    socket.once('close', () => reject(new ConnectionLost('The connection to the database ended')));
  });
  socket.removeAllListeners();
  return socket;
}
