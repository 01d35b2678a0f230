/**
 * API keys of service accounts. The key itself is shown once, when it is created. A repeated request gets the
 * same API key without the key itself, because only a hash of it is stored.
 */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { hasOneOf, isAmong, isFrom, isTrueOf, isUntil, isWithin } from '../../db/conditions.ts';
import { readDatabaseTime } from '../../db/databaseTime.ts';
import { finderOf, requireById } from '../../db/findByIds.ts';
import { listerOf } from '../../db/keyset.ts';
import { apiKeys } from '../../db/tables/index.ts';
import { makeApiKey, type ApiKeyRow } from '../../identity/apiKeys.ts';
import type { Caller, Role } from '../../identity/roles.ts';
import { DomainError } from '../../lib/errors.ts';
import { notFound } from '../../lib/notFound.ts';
import type { Needs } from '../core/dependencies.ts';
import { reserveKey } from '../core/idempotency.ts';

/** Keys must be renewed: a key without an expiry stays in use long after anyone knows its owner. */
const MAX_LIFETIME_DAYS = 400;
const MIN_LIFETIME_SECONDS = 60;

interface CreateApiKeyInput {
  name: string;
  subject: string;
  roles: readonly Role[];
  /** Warehouses for role warehouse; only the subject when left out. */
  warehouseIds?: readonly string[] | null | undefined;
  /** Unix seconds. */
  expiresAt: bigint;
  idempotencyKey: string;
}

export interface CreatedApiKey {
  /** Null for a repeated request. */
  key: string | null;
  apiKey: ApiKeyRow;
}

/** @throws DomainError BAD_USER_INPUT, IDEMPOTENCY_CONFLICT; FORBIDDEN for a caller who is an API key */
export async function createApiKey(
  deps: Needs<'db' | 'ids' | 'random'>,
  caller: Caller,
  input: CreateApiKeyInput,
): Promise<CreatedApiKey> {
  // A stolen key could otherwise create keys that outlive its own revocation.
  if (caller.apiKeyId !== null) {
    throw new DomainError('FORBIDDEN', "An API key can't make API keys; use an administrator's token.");
  }
  const now = await readDatabaseTime(deps.db);
  const id = deps.ids.next();
  const { key, keyHash } = makeApiKey(id, deps.random);
  const rights = {
    name: input.name,
    subject: input.subject,
    roles: distinct(input.roles),
    warehouseIds: distinct(warehousesOf(input)),
  };
  const request = {
    callerSubject: caller.subject,
    operation: 'createApiKey',
    key: input.idempotencyKey,
    input: {
      ...rights,
      roles: JSON.stringify(rights.roles),
      warehouseIds: JSON.stringify(rights.warehouseIds),
      expiresAt: input.expiresAt,
    },
  };
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id);
    if (first !== null) return { key: null, apiKey: await requireById(tx, apiKeys, first) };
    const [apiKey] = await tx
      .insert(apiKeys)
      .values({
        id,
        ...rights,
        keyHash,
        createdBy: caller.subject,
        createdAt: now,
        expiresAt: expiryOf(input.expiresAt, now),
      })
      .returning();
    if (!apiKey) throw new Error('an API key was inserted without being returned');
    return { key, apiKey };
  });
}

/** @throws DomainError BAD_USER_INPUT for warehouses that the key would have no role for */
function warehousesOf({ roles, warehouseIds, subject }: CreateApiKeyInput): readonly string[] {
  if (roles.includes('warehouse')) return warehouseIds ?? [subject];
  if (warehouseIds == null || warehouseIds.length === 0) return [];
  throw new DomainError(
    'BAD_USER_INPUT',
    'input.warehouseIds are the warehouses that role WAREHOUSE may act for, and input.roles does not have it: add the role, ' +
      'or leave them out.',
    { field: 'input.warehouseIds' },
  );
}

/** A set in its one order, so that a repeated request may name its values in another order. */
function distinct<Value extends string>(values: readonly Value[]): Value[] {
  return [...new Set(values)].toSorted();
}

function expiryOf(expiresAt: bigint, now: Date): Date {
  const lifetimeSeconds = Number(expiresAt) - now.getTime() / 1000;
  if (lifetimeSeconds < MIN_LIFETIME_SECONDS || lifetimeSeconds > MAX_LIFETIME_DAYS * 86_400) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `input.expiresAt must be ${MIN_LIFETIME_SECONDS} seconds to ${MAX_LIFETIME_DAYS} days from now, in Unix seconds; ` +
        `it is ${expiresAt}.`,
      { field: 'input.expiresAt' },
    );
  }
  return new Date(Number(expiresAt) * 1000);
}

export const findApiKey = finderOf(apiKeys);

/**
 * Revokes a key, and closes the sockets and streams that it opened, on every instance. Revoking a revoked key
 * changes nothing.
 * @throws DomainError NOT_FOUND
 */
export async function revokeApiKey(
  deps: Needs<'db' | 'credentialSignal'>,
  adminId: string,
  id: string,
): Promise<ApiKeyRow> {
  await deps.db
    .update(apiKeys)
    .set({ revokedAt: sql`now()`, revokedBy: adminId })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)));
  // A key that was revoked before is notified, too: a lost notification may have left it in use on an
  // instance.
  deps.credentialSignal.notify(id);
  const apiKey = await findApiKey(deps, id);
  if (apiKey === null) throw notFound('API key', 'input.apiKeyId');
  return apiKey;
}

const isActive = sql`(${apiKeys.revokedAt} IS NULL AND ${apiKeys.expiresAt} > now())`;

/** Newest first: the keys' rights and whether they are active, never the keys themselves. */
export const listApiKeys = listerOf(apiKeys, 'createdAt', {
  subjects: isAmong(apiKeys.subject),
  roles: hasOneOf(apiKeys.roles),
  active: isTrueOf(isActive),
  ...isWithin(apiKeys.createdAt),
  expiresFrom: isFrom(apiKeys.expiresAt),
  expiresUntil: isUntil(apiKeys.expiresAt),
});
