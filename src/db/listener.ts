/**
 * LISTEN on a connection of its own, which is made anew whenever it is lost.
 *
 *   lost ──▶ connect, LISTEN every channel ──▶ onListen: what was notified meanwhile is lost, so look
 *    ▲  └───fails: later───┘                     │
 *    └──────────────── connection ends ──────────┘
 *
 * postgres.js re-listens once when its connection ends, and gives up when the server is not back by then.
 */
import type postgres from 'postgres';
import type { OpenClient } from './transactionPool.ts';

export interface Listener {
  /**
   * Subscribes to a NOTIFY channel. `onListen` is called at the start and after every reconnect: what was
   * notified in between is lost, so that is the moment to catch up.
   * @returns the way to unsubscribe.
   * @throws when the database can't be reached now.
   */
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen: () => void,
  ): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

interface Subscription {
  channel: string;
  onNotify: (payload: string) => void;
  onListen: () => void;
}

/** A database that restarts is back in seconds; all instances come back at once, so not faster. */
const RECONNECT_DELAY_MS = 500;
/** Who only listens never notices by itself that nobody is at the other end any more. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_SECONDS = 1;

export function createListener(open: OpenClient): Listener {
  const subscriptions = new Set<Subscription>();
  let client: postgres.Sql | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;

  function connect(): postgres.Sql {
    const mine = open({
      max: 1,
      // A connection that waits in silence is doing its work.
      idle_timeout: 0,
      max_lifetime: 0,
      onnotify: notify,
      onclose: () => lost(mine),
    });
    client = mine;
    schedule(HEARTBEAT_MS);
    return mine;
  }

  function notify(channel: string, payload: string): void {
    for (const subscription of subscriptions) {
      if (subscription.channel === channel) subscription.onNotify(payload);
    }
  }

  function lost(mine: postgres.Sql): void {
    void mine.end({ timeout: 0 });
    if (client !== mine) return;
    client = null;
    schedule(RECONNECT_DELAY_MS);
  }

  function schedule(delayMs: number): void {
    if (timer) clearTimeout(timer);
    timer = isClosed ? null : setTimeout(() => void tend(), delayMs);
  }

  /** Looks after the connection: makes it again when it is gone, and asks whether it still lives. */
  async function tend(): Promise<void> {
    const before = client;
    const current = before ?? connect();
    try {
      if (before === null) {
        for (const channel of new Set([...subscriptions].map((s) => s.channel))) {
          await listenOn(current, channel);
        }
        for (const subscription of subscriptions) subscription.onListen();
      } else {
        await withTimeout(current.unsafe('SELECT 1'), HEARTBEAT_TIMEOUT_MS);
        schedule(HEARTBEAT_MS);
      }
    } catch {
      lost(current);
    }
  }

  return {
    async listen(channel, onNotify, onListen) {
      const subscription = { channel, onNotify, onListen };
      subscriptions.add(subscription);
      try {
        await listenOn(client ?? connect(), channel);
      } catch (error) {
        subscriptions.delete(subscription);
        throw error;
      }
      onListen();
      return async () => {
        subscriptions.delete(subscription);
      };
    },
    async close() {
      isClosed = true;
      if (timer) clearTimeout(timer);
      const mine = client;
      client = null;
      await mine?.end({ timeout: CLOSE_TIMEOUT_SECONDS });
    },
  };
}

/** Channel names are our own constants, in lower case. */
async function listenOn(sql: postgres.Sql, channel: string): Promise<void> {
  await sql.unsafe(`LISTEN "${channel}"`);
}

async function withTimeout(work: Promise<unknown>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), timeoutMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
