/**
 * Ends sockets and streams when their token or API key expires, or is revoked on any instance.
 */
import { and, inArray, isNotNull } from 'drizzle-orm';
import type { Clock } from '../lib/clock.ts';
import type { Db } from '../db/connection.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import { apiKeys } from '../db/tables/index.ts';
import type { Logger } from '../lib/logger.ts';
import type { Caller } from './roles.ts';
import type { TokenRevocations } from './tokenRevocations.ts';

/**
 * Maximum time of one timer. Timers stand still while the machine sleeps, and do not follow a clock that is
 * set: a timer until the expiry would end hours late.
 */
const LONGEST_WAIT_MS = 60_000;
export interface CredentialEnds {
  /** Calls `onEnd` once, with the reason as a sentence. @returns the function that ends the watch. */
  watch(caller: Caller, onEnd: (reason: string) => void): () => void;
  /** Null at once; after a pause, a promise that resolves when credentials revoked meanwhile are ended. */
  awaitCurrent(): Promise<unknown> | null;
}

/**
 * Calls `onExpiry` once the clock reaches `expiresAt` (Unix seconds).
 * @returns the function that cancels it. The timer does not keep the process alive.
 */
function atExpiry(expiresAt: number, clock: Clock, onExpiry: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = () => {
    const remainingMs = expiresAt * 1000 - clock.now().getTime();
    if (remainingMs <= 0) {
      onExpiry();
      return;
    }
    timer = setTimeout(wait, Math.min(remainingMs, LONGEST_WAIT_MS)).unref();
  };
  timer = setTimeout(wait, 0).unref();
  return () => clearTimeout(timer);
}

/** Without API keys, credentials end by expiry only. */
export function endsByExpiry(clock: Clock): CredentialEnds {
  return {
    watch: (caller, onEnd) =>
      atExpiry(caller.expiresAt, clock, () =>
        onEnd(caller.apiKeyId === null ? 'The token has expired.' : 'The API key has expired.'),
      ),
    awaitCurrent: () => null,
  };
}

interface Watched {
  caller: Caller;
  end(): void;
}

/** `stop` ends the watches; open sockets and streams stay open. */
export function createCredentialEnds(deps: {
  db: Db;
  clock: Clock;
  credentialSignal: Pick<ChangeSignal, 'onNotify'>;
  tokenRevocations: Pick<TokenRevocations, 'isRevoked' | 'onRead' | 'awaitCurrent'>;
  log: Pick<Logger, 'warn'>;
}): CredentialEnds & { stop(): void } {
  const expiry = endsByExpiry(deps.clock);
  /** The watched callers by the id of their API key; null for tokens. */
  const watched = new Map<string | null, Set<Watched>>();
  const endRevoked = async (ids: readonly string[]) => {
    if (ids.length === 0) return;
    for (const id of await readRevoked(deps.db, ids)) for (const { end } of watched.get(id) ?? []) end();
  };
  // Each reading checks all tokens: one may have been verified while the last reading was under way, and ten
  // thousand take a millisecond.
  const stopReading = deps.tokenRevocations.onRead(async () => {
    for (const { caller, end } of watched.get(null) ?? []) if (deps.tokenRevocations.isRevoked(caller)) end();
    await endRevoked([...watched.keys()].filter((id) => id !== null));
  });
  const stopListening = deps.credentialSignal.onNotify((id) => {
    if (id === null || !watched.has(id)) return;
    endRevoked([id]).catch((err: unknown) => deps.log.warn({ err }, 'revoked API keys could not be read'));
  });
  return {
    watch(caller, onEnd) {
      const { apiKeyId } = caller;
      const cancelExpiry = expiry.watch(caller, onEnd);
      const watchers = watched.get(apiKeyId) ?? new Set();
      watched.set(apiKeyId, watchers);
      const unwatch = () => {
        cancelExpiry();
        watchers.delete(mine);
        if (watchers.size === 0 && watched.get(apiKeyId) === watchers) watched.delete(apiKeyId);
      };
      const mine = {
        caller,
        end() {
          unwatch();
          onEnd(apiKeyId === null ? 'The token was revoked.' : 'The API key was revoked.');
        },
      };
      watchers.add(mine);
      return unwatch;
    },
    awaitCurrent: deps.tokenRevocations.awaitCurrent,
    stop() {
      stopListening();
      stopReading();
    },
  };
}

async function readRevoked(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(inArray(apiKeys.id, [...ids]), isNotNull(apiKeys.revokedAt)));
  return rows.map(({ id }) => id);
}
