/**
 * API keys: what service accounts send as `authorization: Bearer <key>` where people send a token.
 *
 *   atm_0192f0c4a1b27d3e8f5a6b7c8d9e0f1a_<43 characters>
 *       └─ the key's id, visible          └─ 256 random bits, stored as part of a SHA-256 alone
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { and, eq, isNull, lt, or } from 'drizzle-orm';
import type { Clock } from '../clock.ts';
import type { Db } from '../db/connection.ts';
import type { Doorbell } from '../db/doorbell.ts';
import { apiKeys } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Caller } from './roles.ts';
import { isRole } from './roles.ts';
import type { TokenVerifier } from './tokens.ts';

const PREFIX = 'atm_';
const API_KEY = /^atm_([0-9a-f]{32})_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;

/** A change that no ring told of is seen this late. */
const MAX_CACHED_MS = 5_000;
/** Keys in use at one instance at a time; beyond that the oldest is read again. */
const MAX_CACHED_KEYS = 1_000;
/** "Last used" is this coarse, so that reading does not turn into writing. */
const USE_NOTED_EVERY_MS = 5 * 60_000;

export type ApiKeyRow = typeof apiKeys.$inferSelect;

export interface ApiKeyDependencies {
  db: Db;
  clock: Clock;
  /** Rings with a key's id when it was revoked, on whichever instance. */
  credentialBell: Pick<Doorbell, 'onRing'>;
  log: Pick<Logger, 'warn'>;
}

/** Whether a bearer value is meant as an API key rather than as a token. */
export function looksLikeApiKey(bearer: string): boolean {
  return bearer.startsWith(PREFIX);
}

/** A new key, to be shown once, and the hash to be kept. */
export function makeApiKey(
  id: string,
  random: (size: number) => Uint8Array,
): { key: string; keyHash: Uint8Array } {
  const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url');
  const key = `${PREFIX}${id.replaceAll('-', '')}_${secret}`;
  return { key, keyHash: hashOf(key) };
}

/** What tells a key from others in lists and logs: its beginning, which is no secret. */
export function visiblePart(id: string): string {
  return `${PREFIX}${id.replaceAll('-', '')}`;
}

/** Verifies keys against the table, which is read again every few seconds and at every ring. */
export function createApiKeyVerifier(deps: ApiKeyDependencies): TokenVerifier {
  const find = createCachedFind(deps);
  return async (key) => {
    const hex = API_KEY.exec(key)?.[1];
    const row = hex === undefined ? null : await find(uuidOf(hex));
    if (row === null || !timingSafeEqual(hashOf(key), row.keyHash)) {
      throw new DomainError('UNAUTHENTICATED', 'The API key is not known.');
    }
    const now = deps.clock.now();
    if (row.revokedAt !== null) throw new DomainError('UNAUTHENTICATED', 'The API key was revoked.');
    if (row.expiresAt <= now) {
      throw new DomainError('UNAUTHENTICATED', 'The API key has expired; get a new one.');
    }
    noteUse(deps, row, now);
    return callerOf(row);
  };
}

function callerOf(row: ApiKeyRow): Caller {
  return {
    subject: row.subject,
    roles: row.roles.filter(isRole),
    warehouseIds: row.warehouseIds,
    expiresAt: Math.floor(row.expiresAt.getTime() / 1000),
    apiKeyId: row.id,
  };
}

interface CachedRow {
  row: Promise<ApiKeyRow | null>;
  readAtMs: number;
}

/** Only keys that exist are kept, so that made-up ones can't push them out. */
function createCachedFind({ db, clock, credentialBell }: ApiKeyDependencies) {
  const cache = new Map<string, CachedRow>();
  credentialBell.onRing((id) => (id === null ? cache.clear() : cache.delete(id)));
  const read = async (id: string) => {
    const [row] = await db.select().from(apiKeys).where(eq(apiKeys.id, id));
    return row ?? null;
  };
  return async (id: string): Promise<ApiKeyRow | null> => {
    const nowMs = clock.now().getTime();
    const cached = cache.get(id);
    if (cached !== undefined && nowMs - cached.readAtMs < MAX_CACHED_MS) return cached.row;
    const fresh: CachedRow = { row: read(id), readAtMs: nowMs };
    cache.delete(id);
    cache.set(id, fresh);
    const [oldest] = cache.keys();
    if (cache.size > MAX_CACHED_KEYS && oldest !== undefined) cache.delete(oldest);
    const forget = () => {
      if (cache.get(id) === fresh) cache.delete(id);
    };
    const row = await fresh.row.catch((error: unknown) => {
      forget();
      throw error;
    });
    if (row === null) forget();
    return row;
  };
}

/** Nobody waits for this note, and a lost one is made good at the next use. */
function noteUse({ db, log }: ApiKeyDependencies, row: ApiKeyRow, now: Date): void {
  const dueBefore = new Date(now.getTime() - USE_NOTED_EVERY_MS);
  if (row.lastUsedAt !== null && row.lastUsedAt >= dueBefore) return;
  row.lastUsedAt = now;
  db.update(apiKeys)
    .set({ lastUsedAt: now })
    .where(and(eq(apiKeys.id, row.id), or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, dueBefore))))
    .catch((err: unknown) => log.warn({ err, apiKeyId: row.id }, 'the use of an API key was not noted'));
}

function hashOf(key: string): Uint8Array {
  return createHash('sha256').update(key).digest();
}

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
