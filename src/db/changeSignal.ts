/**
 * A change signal between instances: reports that something with a given key has changed.
 *
 * The tables are the truth. A notification carries no facts and may be lost, so every waiter also reads its
 * table from time to time. Notifications are coalesced, because NOTIFY locks the whole database at commit.
 */
import { chunksOf } from '../lib/chunksOf.ts';
import type { DatabaseHandle } from './connection.ts';

export interface ChangeSignal {
  /** Notifies this instance at once, and the others after at most COALESCE_MS. */
  notify(key: string): void;
  /**
   * Resolves at the key's next notification, or after `timeoutMs`. Call it before reading the table;
   * otherwise a notification is missed.
   */
  waitFor(key: string, timeoutMs: number): Promise<void>;
  /** Calls the listener with each notification's key, or with null when some may have been missed. */
  onNotify(listener: (key: string | null) => void): () => void;
  /** Wakes all waiters at the beginning of a stop; they must then end. */
  endWaits(): void;
  hasEndedWaits(): boolean;
  close(): Promise<void>;
}

/** NOTIFY payloads are limited to 8000 bytes: this many ids of 36 characters fit with room. */
const MAX_KEYS_PER_NOTIFY = 150;
/**
 * With more keys than this for one notification, it is sent without keys: every waiter then reads its table.
 */
const MAX_PENDING_KEYS = 1500;
const EVERYTHING = '*';
/** Notifications within this time are sent together. */
const COALESCE_MS = 10;

/**
 * Listens on `channel`; resolves when the subscription stands.
 * @param senderId unique to this instance; without commas
 */
export async function openChangeSignal(
  handle: Pick<DatabaseHandle, 'sql' | 'listen'>,
  channel: string,
  { senderId, onError }: { senderId: string; onError: (error: unknown) => void },
): Promise<ChangeSignal> {
  const waiters = createWaiters();
  const listeners = new Set<(key: string | null) => void>();
  const outbox = createOutbox(async (keys) => {
    for (const together of chunksOf(keys, MAX_KEYS_PER_NOTIFY)) {
      await handle.sql`SELECT pg_notify(${channel}, ${[senderId, ...together].join(',')})`;
    }
  }, onError);
  let closed = false;

  function wake(key: string | null): void {
    waiters.wake(key);
    for (const listener of listeners) listener(key);
  }

  const unlisten = await handle.listen(
    channel,
    (payload) => {
      const [sender, ...keys] = payload.split(',');
      // PostgreSQL also sends an instance its own notifications. Their waiters were woken before.
      if (sender === senderId) return;
      for (const key of keys) wake(key === EVERYTHING ? null : key);
    },
    () => wake(null),
  );

  return {
    notify(key) {
      if (closed) return;
      wake(key);
      outbox.add(key);
    },
    waitFor: waiters.waitFor,
    onNotify(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    endWaits: waiters.end,
    hasEndedWaits: waiters.hasEnded,
    async close() {
      closed = true;
      await outbox.empty();
      await unlisten();
      wake(null);
    },
  };
}

/**
 * Sends one batch at a time. Keys that come meanwhile go together in the next batch; otherwise a slow
 * database would pile up notifications.
 */
function createOutbox(send: (keys: string[]) => Promise<void>, onError: (error: unknown) => void) {
  let pending = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> | null = null;

  async function sendPending(): Promise<void> {
    while (pending.size > 0) {
      const keys = pending.size > MAX_PENDING_KEYS ? [EVERYTHING] : [...pending];
      pending = new Set();
      await send(keys).catch(onError);
    }
  }

  function flush(): void {
    timer = null;
    sending ??= sendPending().finally(() => (sending = null));
  }

  return {
    add(key: string): void {
      if (pending.size <= MAX_PENDING_KEYS) pending.add(key);
      timer ??= setTimeout(flush, COALESCE_MS);
    },
    /** Resolves when all keys have been sent. */
    async empty(): Promise<void> {
      if (timer) clearTimeout(timer);
      flush();
      await sending;
    },
  };
}

function createWaiters() {
  const waiters = new Map<string, Set<() => void>>();
  let hasEnded = false;
  /** Null wakes all waiters. */
  const wake = (key: string | null): void => {
    const woken = key === null ? [...waiters.values()] : [waiters.get(key) ?? new Set()];
    for (const set of woken) for (const resolve of set) resolve();
  };
  return {
    wake,
    end(): void {
      hasEnded = true;
      wake(null);
    },
    hasEnded: () => hasEnded,
    waitFor(key: string, timeoutMs: number): Promise<void> {
      return new Promise((resolve) => {
        const set = waiters.get(key) ?? new Set();
        waiters.set(key, set);
        const done = () => {
          clearTimeout(timeout);
          set.delete(done);
          if (set.size === 0) waiters.delete(key);
          resolve();
        };
        const timeout = setTimeout(done, timeoutMs);
        set.add(done);
      });
    },
  };
}
