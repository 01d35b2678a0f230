/**
 * A pool of clients. Each client is lent to one statement or one transaction at a time, so statements of two
 * callers never share a connection, and no statement waits behind a lost or silent connection.
 *
 *   waiting for a place ──▶ lent ──answered──▶ idle ──lent again, or idle for long──▶ closed
 *    └─ too long: NoFreeConnection  └─ connection lost, or no answer in time: rejected, then replaced
 *
 * Transactions get at most half of the places: their work may need single statements on other connections,
 * which would otherwise wait for transactions that wait for them.
 */
import type postgres from 'postgres';
import { createConcurrencyLimit } from '../lib/concurrencyLimit.ts';
import { waitAtMost } from '../lib/timeout.ts';
import type { Client, ClientOptions } from './client.ts';
import { ConnectionLost, NoFreeConnection } from './connectionLost.ts';
import type { Primary } from './primary.ts';

interface PoolOptions {
  primary: Primary;
  client: ClientOptions;
  /** Maximum connections; at least 2. */
  size: number;
  /** How long a statement may go without an answer. */
  answerTimeoutMs: number;
}

interface Pool {
  /** Sends one statement. @throws ConnectionLost, or NoFreeConnection */
  ask<T>(statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T>;
  /** Lends a client to one transaction. @throws NoFreeConnection, and what `work` throws */
  lend<T>(work: (client: Client) => Promise<T>): Promise<T>;
  load(): PoolLoad;
  /** Gives open statements a short time to end; the rest is rejected. */
  close(): Promise<void>;
}

/** The load of the pool. Statements and transactions are counted together. */
export interface PoolLoad {
  /** Connections that a statement or a transaction uses now, and open connections that are unused. */
  lent: number;
  idle: number;
  /** Statements and transactions that wait for a connection now. */
  waiting: number;
  /** Waits since the start; a transaction may have two, the first for its place among transactions. */
  waited: number;
  /** Statements and transactions since the start that got no connection in time. */
  refused: number;
}

/**
 * How much longer than the answer deadline a caller waits for a place. Requests free their places by that
 * deadline, so a longer wait means a long queue in front. Reconciliation holds a few places for minutes.
 */
const EXTRA_WAIT_MS = 2_000;
/** A guard against a defect: the limits on requests admit far fewer. */
const MAX_WAITING = 20_000;
/** Idle connections are closed, so that a quiet instance holds none. */
const IDLE_MS = 60_000;
const IDLE_CHECK_MS = 10_000;
/** Connections are replaced after this age, so that a name that moved in a failover is resolved again. */
const MAX_AGE_MS = 30 * 60_000;
/** How long statements under way may take once the pool closes. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Makes a pool of at most `size` connections, of which transactions use half at most. Opens none before it is
 * needed.
 */
export function createPool({ primary, client: clientOptions, size, answerTimeoutMs }: PoolOptions): Pool {
  const places = createPlaces(size, answerTimeoutMs);
  const transactionPlaces = createPlaces(Math.ceil(size / 2), answerTimeoutMs);
  const idle = createIdleClients((client) => client.isLost() || primary.isOutdated(client));
  const lent = new Set<Client>();
  let isClosed = false;
  let noteUnused = () => {};
  const idleTimer = setInterval(() => idle.closeQuiet(IDLE_MS), IDLE_CHECK_MS);
  idleTimer.unref();

  /** Closes quiet clients: one that fell silent, too, would cost the next statement its deadline. */
  const giveUpQuiet = () => {
    idle.closeQuiet(answerTimeoutMs);
    primary.suspect();
  };

  function giveBack(client: Client): void {
    lent.delete(client);
    if (client.isLost()) {
      if (client.isSilent()) giveUpQuiet();
    } else if (performance.now() - client.openedAt > MAX_AGE_MS) void client.end();
    else idle.add(client);
    if (lent.size === 0) noteUnused();
  }

  const unusedWithin = (timeoutMs: number) =>
    waitAtMost(timeoutMs, new Promise<void>((resolve) => (noteUnused = resolve)));

  /** Lends a client to the work. Every statement comes this way, so each added promise slows all of them. */
  async function inPlace<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const free = await places.take();
    try {
      if (isClosed) throw new ConnectionLost('The connection to the database was closed');
      const client = idle.take() ?? (await primary.connect(clientOptions));
      lent.add(client);
      if (isClosed) client.lose(new ConnectionLost('The connection to the database was closed'));
      try {
        return await work(client);
      } finally {
        giveBack(client);
      }
    } finally {
      free();
    }
  }

  return {
    ask: (statement) => inPlace((client) => client.ask(statement, answerTimeoutMs)),
    async lend(work) {
      const free = await transactionPlaces.take();
      try {
        return await inPlace(work);
      } finally {
        free();
      }
    },
    load: () => ({ lent: lent.size, idle: idle.count(), ...sumOf(places.load(), transactionPlaces.load()) }),
    async close() {
      isClosed = true;
      clearInterval(idleTimer);
      if (lent.size > 0) await unusedWithin(CLOSE_TIMEOUT_MS);
      for (const client of lent) client.lose(new ConnectionLost('The connection to the database was closed'));
      await idle.end();
    },
  };
}

type PlacesLoad = Omit<PoolLoad, 'lent' | 'idle'>;

function sumOf(a: PlacesLoad, b: PlacesLoad): PlacesLoad {
  return {
    waiting: a.waiting + b.waiting,
    waited: a.waited + b.waited,
    refused: a.refused + b.refused,
  };
}

function createPlaces(maxConcurrent: number, answerTimeoutMs: number) {
  const waitMs = answerTimeoutMs + EXTRA_WAIT_MS;
  const refusal = () => new NoFreeConnection('No connection to the database became free in time');
  return createConcurrencyLimit({ maxConcurrent, maxWaiting: MAX_WAITING, waitMs, refusal });
}

/** The clients that are not lent. */
function createIdleClients(isUseless: (client: Client) => boolean) {
  /** Last in, first out. */
  let clients: Client[] = [];
  return {
    add: (client: Client) => void clients.push(client),
    /** The server may have closed some of them since they were given back. */
    count: () => clients.filter((client) => !client.isLost()).length,
    /** Returns a usable client; undefined when there is none. */
    take(): Client | undefined {
      let client = clients.pop();
      while (client && isUseless(client)) {
        void client.end();
        client = clients.pop();
      }
      return client;
    },
    /** Closes the clients without an answer for `quietMs`. */
    closeQuiet(quietMs: number): void {
      const quietSince = performance.now() - quietMs;
      const kept = clients.filter((client) => !client.isLost() && client.answeredAt() > quietSince);
      for (const client of clients) if (!kept.includes(client)) void client.end();
      clients = kept;
    },
    async end(): Promise<void> {
      await Promise.all(clients.map((client) => client.end()));
      clients = [];
    },
  };
}
