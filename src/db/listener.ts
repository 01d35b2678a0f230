/**
 * LISTEN on a connection of its own, reconnected whenever it is lost or silent.
 *
 *   lost ──▶ connect, LISTEN every channel ──▶ onListen: earlier notifications are lost, so read the tables
 *    ▲  └───fails: later───┘                     │
 *    └──────────────── connection ends ──────────┘
 *
 * postgres.js itself re-listens once, and gives up when the server is not back by then.
 */
import { createClient, type Client, type ClientOptions } from './client.ts';

export interface Listener {
  /**
   * Subscribes to a NOTIFY channel. `onListen` is called at the start and after every reconnect, because notifications
   * in between are lost.
   * @returns the function that unsubscribes
   * @throws when the database can't be reached now
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

/** A database restarts within seconds, and all instances reconnect at once, so not faster. */
const RECONNECT_DELAY_MS = 500;
/** A connection that only listens does not notice by itself that it is silent. */
const HEARTBEAT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 5_000;

export function createListener(url: string, options: ClientOptions): Listener {
  const subscriptions = new Set<Subscription>();
  let client: Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;

  function connect(): Client {
    const mine = createClient(url, { ...options, onnotify: notify }, () => lost(mine));
    client = mine;
    schedule(HEARTBEAT_MS);
    return mine;
  }

  function notify(channel: string, payload: string): void {
    for (const subscription of subscriptions) {
      if (subscription.channel === channel) subscription.onNotify(payload);
    }
  }

  function lost(mine: Client): void {
    if (client !== mine) return;
    client = null;
    schedule(RECONNECT_DELAY_MS);
  }

  function schedule(delayMs: number): void {
    if (timer) clearTimeout(timer);
    timer = isClosed ? null : setTimeout(() => void check(), delayMs);
  }

  /** Reconnects when the connection is gone, else checks that it still answers. */
  async function check(): Promise<void> {
    const before = client;
    const current = before ?? connect();
    try {
      if (before === null) {
        await listenAgain(current, subscriptions);
      } else {
        await current.ask((sql) => sql.unsafe('SELECT 1'), ANSWER_TIMEOUT_MS);
        schedule(HEARTBEAT_MS);
      }
    } catch (error) {
      current.lose(error as Error);
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
      await mine?.end();
    },
  };
}

async function listenAgain(client: Client, subscriptions: ReadonlySet<Subscription>): Promise<void> {
  for (const channel of new Set([...subscriptions].map((s) => s.channel))) await listenOn(client, channel);
  for (const subscription of subscriptions) subscription.onListen();
}

/** Channel names are constants of this product, in lower case. */
async function listenOn(client: Client, channel: string): Promise<void> {
  await client.ask((sql) => sql.unsafe(`LISTEN "${channel}"`), ANSWER_TIMEOUT_MS);
}
