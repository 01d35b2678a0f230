/**
 * createApiKey: a service account gets a key, which is shown this once.
 */
import { apiKeys } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { makeApiKey, type ApiKeyRow } from '../identity/apiKeys.ts';
import type { Caller, Role } from '../identity/roles.ts';
import type { Dependencies } from './dependencies.ts';

/** A key that is never renewed is one day nobody's. */
const MAX_LIFETIME_DAYS = 400;
const MIN_LIFETIME_SECONDS = 60;

export interface CreateApiKeyInput {
  name: string;
  subject: string;
  roles: readonly Role[];
  /** The subject alone unless given. */
  warehouseIds?: readonly string[] | null | undefined;
  /** Unix seconds. */
  expiresAt: bigint;
}

/** @throws DomainError BAD_USER_INPUT; FORBIDDEN for a caller who is an API key */
export async function createApiKey(
  deps: Pick<Dependencies, 'db' | 'clock' | 'ids' | 'random'>,
  caller: Caller,
  input: CreateApiKeyInput,
): Promise<{ key: string; apiKey: ApiKeyRow }> {
  // Or one stolen key could leave others behind that outlive its revocation.
  if (caller.apiKeyId !== null) {
    throw new DomainError('FORBIDDEN', "An API key can't make API keys; use an administrator's token.");
  }
  const now = deps.clock.now();
  const id = deps.ids.next();
  const { key, keyHash } = makeApiKey(id, deps.random);
  const [apiKey] = await deps.db
    .insert(apiKeys)
    .values({
      id,
      name: input.name,
      keyHash,
      subject: input.subject,
      roles: [...new Set(input.roles)],
      warehouseIds: [...(input.warehouseIds ?? [input.subject])],
      createdBy: caller.subject,
      createdAt: now,
      expiresAt: expiryOf(input.expiresAt, now),
    })
    .returning();
  if (!apiKey) throw new Error('an API key was inserted without being returned');
  return { key, apiKey };
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
