/**
 * A doorbell between instances: "something about this key changed, go and look".
 *
 * The tables are the truth; a ring carries no facts and may be lost, so every waiter also looks by itself
 * from time to time. Rings are coalesced before they become a NOTIFY, because NOTIFY takes a lock over the
 * whole database at commit.
 */
import type { DatabaseHandle } from './connection.ts';

export interface Doorbell {
  /** Tells every instance, this one at once and the others after at most `coalesceMs`. */
  ring(key: string): void;
  /** Resolves at the key's next ring, or after `timeoutMs`. Ask for it before looking, or a ring is missed. */
  next(key: string, timeoutMs: number): Promise<void>;
  /** Called with each ring's key, and with null when rings may have been missed. */
  onRing(listener: (key: string | null) => void): () => void;
  close(): Promise<void>;
}

/** NOTIFY payloads are limited to 8000 bytes: this many ids of 36 characters fit with room. */
const MAX_KEYS_PER_NOTIFY = 150;
/** More keys than this in one window are told as "look at everything". */
const MAX_PENDING_KEYS = 1500;
const EVERYTHING = '*';

/** Listens on `channel`; resolves when the subscription stands. */
export async function openDoorbell(
  handle: Pick<DatabaseHandle, 'sql' | 'listen'>,
  channel: string,
  options: { coalesceMs?: number; onError: (error: unknown) => void },
): Promise<Doorbell> {
  const coalesceMs = options.coalesceMs ?? 10;
  const waiters = new Map<string, Set<() => void>>();
  const listeners = new Set<(key: string | null) => void>();
  let pending = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> = Promise.resolve();
  let closed = false;

  function wake(key: string | null): void {
    const woken = key === null ? [...waiters.values()] : [waiters.get(key) ?? new Set()];
    for (const set of woken) for (const resolve of set) resolve();
    for (const listener of listeners) listener(key);
  }

  async function send(keys: string[]): Promise<void> {
    for (let i = 0; i < keys.length; i += MAX_KEYS_PER_NOTIFY) {
      await handle.sql.notify(channel, keys.slice(i, i + MAX_KEYS_PER_NOTIFY).join(','));
    }
  }

  function flush(): void {
    timer = null;
    const keys = pending.size > MAX_PENDING_KEYS ? [EVERYTHING] : [...pending];
    pending = new Set();
    // One at a time: a slow database must not pile up notifications.
    sending = sending.then(() => send(keys)).catch(options.onError);
  }

  const unlisten = await handle.listen(
    channel,
    (payload) => {
      for (const key of payload.split(',')) wake(key === EVERYTHING ? null : key);
    },
    () => wake(null),
  );

  return {
    ring(key) {
      if (closed) return;
      wake(key);
      pending.add(key);
      timer ??= setTimeout(flush, coalesceMs);
    },
    next(key, timeoutMs) {
      return new Promise((resolve) => {
        const set = waiters.get(key) ?? new Set();
        waiters.set(key, set);
        const done = () => {
          clearTimeout(timeout);
          set.delete(done);
          if (set.size === 0 && waiters.get(key) === set) waiters.delete(key);
          resolve();
        };
        const timeout = setTimeout(done, timeoutMs);
        set.add(done);
      });
    },
    onRing(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      if (timer) {
        clearTimeout(timer);
        flush();
      }
      closed = true;
      await sending;
      await unlisten();
      wake(null);
    },
  };
}
