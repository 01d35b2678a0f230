/**
 * Ends sockets and streams when their credential ends: a token or key that expires, and one that an instance
 * revokes.
 */
import { and, inArray, isNotNull } from 'drizzle-orm';
import type { Clock } from '../lib/clock.ts';
import type { Db } from '../db/connection.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import { apiKeys } from '../db/tables/index.ts';
import type { Logger } from '../lib/logger.ts';
import { createProcessPauses } from '../lib/processPauses.ts';
import { shareFreshRuns } from '../lib/sharedRuns.ts';
import type { Caller } from './roles.ts';
import type { TokenRevocations } from './tokenRevocations.ts';

/** Timers stand still while the machine sleeps, and know nothing of a clock that is set: one until the expiry would end hours after it. */
const LONGEST_WAIT_MS = 60_000;
/** Notifications may be lost; the table is read this often. */
const LOOK_INTERVAL_MS = 5_000;
/** A look that is half of it late is a busy process's. */
const PAUSE_FROM_MS = 1.5 * LOOK_INTERVAL_MS;

export interface CredentialEnds {
  /** Calls `onEnd` once, with the reason as a sentence. @returns the function that ends the watch. */
  watch(caller: Caller, onEnd: (reason: string) => void): () => void;
  /** Null at once, but after a pause of this process: then those that were revoked meanwhile are ended first. */
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

/** `stop` ends the watches; open sockets and streams stay open. */
export function createCredentialEnds(deps: {
  db: Db;
  clock: Clock;
  credentialSignal: Pick<ChangeSignal, 'onNotify'>;
  tokenRevocations: Pick<TokenRevocations, 'isRevoked' | 'onRead' | 'awaitCurrent'>;
  log: Pick<Logger, 'warn'>;
}): CredentialEnds & { stop(): void } {
  const expiry = endsByExpiry(deps.clock);
  const watched = new Map<string, Set<() => void>>();
  const tokens = new Set<WatchedToken>();
  // All of them at each reading: one may have been verified while it was read before, and ten thousands take a millisecond.
  const stopReading = deps.tokenRevocations.onRead(() => {
    for (const { caller, end } of tokens) if (deps.tokenRevocations.isRevoked(caller)) end();
  });
  const { look, lookAtAll, isCurrent } = createLooks(deps.db, watched);
  const safely = (looking: Promise<void>) => {
    looking.catch((err: unknown) => deps.log.warn({ err }, 'revoked API keys could not be read'));
  };
  const stopListening = deps.credentialSignal.onNotify((id) => {
    if (id === null) safely(lookAtAll());
    else if (watched.has(id)) safely(look([id]));
  });
  const timer = setInterval(() => safely(lookAtAll()), LOOK_INTERVAL_MS).unref();
  return {
    watch(caller, onEnd) {
      const cancelExpiry = expiry.watch(caller, onEnd);
      const { apiKeyId } = caller;
      if (apiKeyId === null) {
        const unwatchToken = watchToken(tokens, caller, () => {
          cancelExpiry();
          onEnd('The token was revoked.');
        });
        return () => {
          cancelExpiry();
          unwatchToken();
        };
      }
      const watchers = watched.get(apiKeyId) ?? new Set();
      watched.set(apiKeyId, watchers);
      const unwatch = () => {
        cancelExpiry();
        watchers.delete(end);
        if (watchers.size === 0 && watched.get(apiKeyId) === watchers) watched.delete(apiKeyId);
      };
      const end = () => {
        unwatch();
        onEnd('The API key was revoked.');
      };
      watchers.add(end);
      return unwatch;
    },
    awaitCurrent() {
      const ofKeys = isCurrent() ? null : lookAtAll();
      const ofTokens = deps.tokenRevocations.awaitCurrent();
      return ofKeys === null ? ofTokens : Promise.all([ofKeys, ofTokens]);
    },
    stop() {
      clearInterval(timer);
      stopListening();
      stopReading();
    },
  };
}

/** Ends what a revoked API key has opened. */
function createLooks(db: Db, watched: ReadonlyMap<string, ReadonlySet<() => void>>) {
  const pauses = createProcessPauses(PAUSE_FROM_MS);
  /** How many there had been when the last look at all began. */
  let lookedAfter = 0;
  const look = async (ids: readonly string[]) => {
    for (const id of await readRevoked(db, ids)) for (const end of watched.get(id) ?? []) end();
  };
  const lookAtAll = shareFreshRuns(async () => {
    const before = pauses.count();
    if (watched.size > 0) await look([...watched.keys()]);
    lookedAfter = before;
  });
  return { look, lookAtAll, isCurrent: () => pauses.count() === lookedAfter };
}

interface WatchedToken {
  caller: Caller;
  end: () => void;
}

function watchToken(tokens: Set<WatchedToken>, caller: Caller, onEnd: () => void): () => void {
  const unwatch = () => tokens.delete(watchedToken);
  const watchedToken = {
    caller,
    end: () => {
      unwatch();
      onEnd();
    },
  };
  tokens.add(watchedToken);
  return unwatch;
}

async function readRevoked(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(inArray(apiKeys.id, [...ids]), isNotNull(apiKeys.revokedAt)));
  return rows.map(({ id }) => id);
}
