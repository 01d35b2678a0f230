/**
 * revokeApiKey: revokes a key, and closes the sockets and streams that it opened on every instance.
 */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { apiKeys } from '../../db/tables/index.ts';
import { notFound } from '../../lib/notFound.ts';
import type { ApiKeyRow } from '../../identity/apiKeys.ts';
import type { Needs } from '../core/dependencies.ts';
import { findApiKey } from './listApiKeys.ts';

/** Revoking a revoked key changes nothing. @throws DomainError NOT_FOUND */
export async function revokeApiKey(
  deps: Needs<'db' | 'credentialSignal'>,
  adminId: string,
  id: string,
): Promise<ApiKeyRow> {
  await deps.db
    .update(apiKeys)
    .set({ revokedAt: sql`now()`, revokedBy: adminId })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)));
  // Also for a key that was revoked before: a lost notification may have left it in use on an instance.
  deps.credentialSignal.notify(id);
  const apiKey = await findApiKey(deps, id);
  if (apiKey === null) throw notFound('API key', 'input.apiKeyId');
  return apiKey;
}
