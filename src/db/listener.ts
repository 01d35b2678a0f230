/**
 * LISTEN on a connection of its own, reconnected whenever it is lost or silent.
 *
 *   lost ──▶ connect, LISTEN every channel ──▶ onListen: earlier notifications are lost, so read the tables
 *    ▲  └───fails: later───┘                     │
 *    └──────────────── connection ends ──────────┘
 *
 * postgres.js itself re-listens once, and gives up when the server is not back by then.
 */
import type { Client, ClientOptions } from './client.ts';
import type { Logger } from '../lib/logger.ts';
import { singleFlight } from '../lib/singleFlight.ts';
import { ConnectionLost } from './connectionLost.ts';
import type { Primary } from './primary.ts';

export interface Listener {
  /**
   * Subscribes to a NOTIFY channel. `onListen` is called at the start and after every reconnect, because
   * notifications in between are lost.
   * @returns the function that unsubscribes
   * @throws when the database can't be reached now
   */
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen: () => void,
  ): Promise<() => Promise<void>>;
  /** False while notifications are lost: changes by other instances are then found by reading the tables. */
  isListening(): boolean;
  close(): Promise<void>;
}

interface Subscription {
  channel: string;
  onNotify: (payload: string) => void;
  onListen: () => void;
}

/** A database restarts within seconds; all instances reconnect at once, so faster retries would load it. */
const RECONNECT_DELAY_MS = 500;
/** Time between two checks: a connection that only listens does not notice otherwise that it is silent. */
const HEARTBEAT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 5_000;

/** What a loss means: each waiter also reads its table from time to time. */
export const EFFECT_OF_LOST_NOTIFICATIONS = 'changes by other instances are found seconds later';

/** Is told once when notifications are lost, not at each try to reconnect, and when they arrive again. */
export type ListenerLog = Pick<Logger, 'info' | 'warn'>;

/** Connects at the first `listen`. */
export function createListener(primary: Primary, options: ClientOptions, log?: ListenerLog): Listener {
  const subscriptions = createSubscriptions(log);
  let client: Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;

  const connected = singleFlight(async () => client ?? connect());

  async function connect(): Promise<Client> {
    let mine: Client | null = null;
    const onLost = (reason: Error) => {
      if (mine === null || client !== mine) return;
      client = null;
      subscriptions.noteLost(reason);
      schedule(RECONNECT_DELAY_MS);
    };
    mine = await primary.connect({ ...options, onnotify: subscriptions.notify }, onLost);
    if (isClosed || mine.isLost()) {
      void mine.end();
      throw new ConnectionLost('The connection to the database ended');
    }
    client = mine;
    schedule(HEARTBEAT_MS);
    try {
      await subscriptions.listenAgain(mine);
      return mine;
    } catch (error) {
      mine.lose(error as Error);
      throw error;
    }
  }

  function schedule(delayMs: number): void {
    if (timer) clearTimeout(timer);
    timer = isClosed ? null : setTimeout(() => void check(), delayMs);
  }

  /** Reconnects after a lost connection; otherwise checks that it still answers, and leads to the primary. */
  async function check(): Promise<void> {
    const before = client;
    try {
      if (before === null) return void (await connected());
      if (primary.isOutdated(before)) throw new ConnectionLost('Another server of the database was promoted');
      await before.ask((sql) => sql.unsafe('SELECT 1'), ANSWER_TIMEOUT_MS);
      schedule(HEARTBEAT_MS);
    } catch (error) {
      if (before?.isSilent()) primary.suspect();
      before?.lose(error as Error);
      if (client === null) schedule(RECONNECT_DELAY_MS);
    }
  }

  return {
    async listen(channel, onNotify, onListen) {
      await listenOn(await connected(), channel);
      const unsubscribe = subscriptions.add({ channel, onNotify, onListen });
      onListen();
      return unsubscribe;
    },
    isListening: () => !subscriptions.isLost(),
    async close() {
      isClosed = true;
      if (timer) clearTimeout(timer);
      const mine = client;
      client = null;
      await mine?.end();
    },
  };
}

function createSubscriptions(log?: ListenerLog) {
  const all = new Set<Subscription>();
  let isLost = false;
  return {
    isLost: () => isLost,
    /** Without subscriptions, at the start, nothing is lost. */
    noteLost(err: Error): void {
      if (isLost || all.size === 0) return;
      isLost = true;
      log?.warn({ err }, `notifications of the database are lost: ${EFFECT_OF_LOST_NOTIFICATIONS}`);
    },
    add(subscription: Subscription): () => Promise<void> {
      all.add(subscription);
      return async () => void all.delete(subscription);
    },
    notify(channel: string, payload: string): void {
      for (const subscription of all) if (subscription.channel === channel) subscription.onNotify(payload);
    },
    /** Repeats every LISTEN on a new connection. */
    async listenAgain(client: Client): Promise<void> {
      for (const channel of new Set([...all].map((one) => one.channel))) await listenOn(client, channel);
      for (const { onListen } of all) onListen();
      if (isLost) log?.info('notifications of the database arrive again');
      isLost = false;
    },
  };
}

/** Channel names are constants of this product, in lower case. */
async function listenOn(client: Client, channel: string): Promise<void> {
  await client.ask((sql) => sql.unsafe(`LISTEN "${channel}"`), ANSWER_TIMEOUT_MS);
}
