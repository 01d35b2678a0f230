/**
 * API keys: service accounts send `authorization: Bearer <key>` where people send a token.
 *
 *   atm_0192f0c4a1b27d3e8f5a6b7c8d9e0f1a_<43 characters>
 *       └─ the key's id, visible          └─ 256 random bits, stored as part of a SHA-256 alone
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { eq, getTableColumns, sql } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { Db } from '../db/connection.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import { apiKeys } from '../db/tables/index.ts';
import { DomainError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { isRole, type Caller } from './roles.ts';
import type { TokenVerifier } from './tokens.ts';

const PREFIX = 'atm_';
const API_KEY = /^atm_([0-9a-f]{32})_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;

/** A change whose notification was lost takes effect this late. */
const MAX_CACHED_MS = 5_000;
/** Maximum keys cached in one instance. */
const MAX_CACHED_KEYS = 1_000;
/** Resolution of lastUsedAt, so that not every request writes. */
const USE_NOTED_SINCE = sql`now() - interval '5 minutes'`;

export type ApiKeyRow = typeof apiKeys.$inferSelect;

interface ApiKeyDependencies {
  db: Db;
  clock: Clock;
  /** Notified with a key's id when an instance revoked it. */
  credentialSignal: Pick<ChangeSignal, 'onNotify'>;
  log: Pick<Logger, 'warn'>;
}

/** Whether a bearer value has the form of an API key rather than a token. */
export function looksLikeApiKey(bearer: string): boolean {
  return bearer.startsWith(PREFIX);
}

/** A new key, to be shown once, and its hash, to be stored. */
export function makeApiKey(
  id: string,
  random: (size: number) => Uint8Array,
): { key: string; keyHash: Uint8Array } {
  const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url');
  const key = `${visiblePart(id)}_${secret}`;
  return { key, keyHash: hashOf(key) };
}

/** The key's public prefix, which identifies it in lists and logs. */
export function visiblePart(id: string): string {
  return `${PREFIX}${id.replaceAll('-', '')}`;
}

/** Verifies keys against the table, read again every few seconds and at every notification. */
export function createApiKeyVerifier(deps: ApiKeyDependencies): TokenVerifier {
  const find = createCachedFind(deps);
  return async (key) => {
    const hex = API_KEY.exec(key)?.[1];
    const row = hex === undefined ? null : await find(uuidOf(hex));
    if (row === null || !timingSafeEqual(hashOf(key), row.keyHash)) {
      throw new DomainError('UNAUTHENTICATED', 'The API key is not known.');
    }
    if (row.revokedAt !== null) throw new DomainError('UNAUTHENTICATED', 'The API key was revoked.');
    if (remainingMsOf(row) <= 0) {
      throw new DomainError('UNAUTHENTICATED', 'The API key has expired; get a new one.');
    }
    noteUse(deps, row);
    return callerOf(row, deps.clock);
  };
}

/** A key as read, with the values that the database's clock decides. */
interface ReadKey extends ApiKeyRow {
  /** Time to the key's expiry when it was read. */
  remainingMs: number;
  /** Whether the key's last use is due to be written again. */
  isUseDue: boolean;
  /** By performance.now(), which is independent of the wall clock. */
  readAtMs: number;
}

function remainingMsOf({ remainingMs, readAtMs }: ReadKey): number {
  return remainingMs - (performance.now() - readAtMs);
}

/** Returns the caller. It expires by this instance's clock, which the timers of sockets and streams use. */
function callerOf(row: ReadKey, clock: Clock): Caller {
  return {
    subject: row.subject,
    roles: row.roles.filter(isRole),
    warehouseIds: row.warehouseIds,
    expiresAt: Math.floor((clock.now().getTime() + remainingMsOf(row)) / 1000),
    apiKeyId: row.id,
    jti: null,
    issuedAt: null,
  };
}

/** Caches existing keys only, so that invented ones can't evict them. */
function createCachedFind({ db, credentialSignal }: ApiKeyDependencies) {
  const cache = new LRUCache<string, Promise<ReadKey | null>>({
    max: MAX_CACHED_KEYS,
    ttl: MAX_CACHED_MS,
    // Otherwise the cache keeps the time until a timer runs; after a pause, requests come before timers.
    ttlResolution: 0,
  });
  credentialSignal.onNotify((id) => (id === null ? cache.clear() : cache.delete(id)));
  const read = async (id: string): Promise<ReadKey | null> => {
    const readAtMs = performance.now();
    const [row] = await db
      .select({
        ...getTableColumns(apiKeys),
        remainingMs: sql`extract(epoch FROM ${apiKeys.expiresAt} - now()) * 1000`.mapWith(Number),
        isUseDue: sql<boolean>`coalesce(${apiKeys.lastUsedAt} < ${USE_NOTED_SINCE}, true)`,
      })
      .from(apiKeys)
      .where(eq(apiKeys.id, id));
    return row ? { ...row, readAtMs } : null;
  };
  return async (id: string): Promise<ReadKey | null> => {
    const cached = cache.get(id);
    if (cached !== undefined) return cached;
    const fresh = read(id);
    cache.set(id, fresh);
    const row = await fresh.catch((error: unknown) => {
      cache.delete(id);
      throw error;
    });
    if (row === null) cache.delete(id);
    return row;
  };
}

/** Not awaited: a lost update is repeated at the next use. */
function noteUse({ db, log }: ApiKeyDependencies, row: ReadKey): void {
  if (!row.isUseDue) return;
  row.isUseDue = false;
  db.update(apiKeys)
    .set({ lastUsedAt: sql`now()` })
    .where(eq(apiKeys.id, row.id))
    .catch((err: unknown) => log.warn({ err, apiKeyId: row.id }, 'the use of an API key was not noted'));
}

function hashOf(key: string): Uint8Array {
  return hash('sha256', key, 'buffer');
}

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
