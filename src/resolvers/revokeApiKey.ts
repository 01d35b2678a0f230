/**
 * revokeApiKey: a key ends now, and what it opened with it, on every instance.
 */
import { and, eq, isNull } from 'drizzle-orm';
import { apiKeys } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { ApiKeyRow } from '../identity/apiKeys.ts';
import type { Dependencies } from './dependencies.ts';
import { findApiKey } from './listApiKeys.ts';

/** Revoking a revoked key changes nothing. @throws DomainError NOT_FOUND */
export async function revokeApiKey(
  deps: Pick<Dependencies, 'db' | 'clock' | 'credentialBell'>,
  adminId: string,
  id: string,
): Promise<ApiKeyRow> {
  await deps.db
    .update(apiKeys)
    .set({ revokedAt: deps.clock.now(), revokedBy: adminId })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)));
  // Also when it was revoked before: whoever asks again may have seen it still in use.
  deps.credentialBell.ring(id);
  const apiKey = await findApiKey(deps, id);
  if (apiKey === null)
    throw new DomainError('NOT_FOUND', `There is no API key ${id}.`, { field: 'input.id' });
  return apiKey;
}
