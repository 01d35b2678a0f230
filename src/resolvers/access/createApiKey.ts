/**
 * createApiKey: creates the key of a service account. The key itself is shown once: a repeated request gets the same API
 * key without it, as nothing that would show it again is stored.
 */
import { readDatabaseTime } from '../../db/databaseTime.ts';
import { requireById } from '../../db/findByIds.ts';
import { apiKeys } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { makeApiKey, type ApiKeyRow } from '../../identity/apiKeys.ts';
import type { Caller, Role } from '../../identity/roles.ts';
import type { Needs } from '../core/dependencies.ts';
import { reserveKey, type IdempotentRequest } from '../core/idempotency.ts';

/** Keys must be renewed: one without an expiry is used long after its owner is known. */
const MAX_LIFETIME_DAYS = 400;
const MIN_LIFETIME_SECONDS = 60;

interface CreateApiKeyInput {
  name: string;
  subject: string;
  roles: readonly Role[];
  /** Of role warehouse: the subject alone unless given. */
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
    roles: [...new Set(input.roles)],
    warehouseIds: warehousesOf(input),
  };
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, idempotentRequest(caller, input), id, now);
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
function warehousesOf({ roles, warehouseIds, subject }: CreateApiKeyInput): string[] {
  if (roles.includes('warehouse')) return [...(warehouseIds ?? [subject])];
  if (warehouseIds == null || warehouseIds.length === 0) return [];
  throw new DomainError(
    'BAD_USER_INPUT',
    'input.warehouseIds are the warehouses that role WAREHOUSE may act for, and input.roles does not have it: add the role, ' +
      'or leave them out.',
    { field: 'input.warehouseIds' },
  );
}

function idempotentRequest(caller: Caller, input: CreateApiKeyInput): IdempotentRequest {
  const { idempotencyKey, roles, warehouseIds, ...rest } = input;
  return {
    callerSubject: caller.subject,
    operation: 'createApiKey',
    key: idempotencyKey,
    input: {
      ...rest,
      roles: JSON.stringify([...new Set(roles)].toSorted()),
      warehouseIds: warehouseIds == null ? null : JSON.stringify(warehouseIds),
    },
  };
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
