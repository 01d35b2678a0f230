/**
 * Lists API keys, newest first: what they may do and whether they still can, never the keys.
 */
import { and, eq, gt, isNotNull, isNull, lte, or } from 'drizzle-orm';
import { keyset, type KeysetCursor, type KeysetPage } from '../db/keyset.ts';
import { apiKeys } from '../db/schema/index.ts';
import type { ApiKeyRow } from '../identity/apiKeys.ts';
import type { Dependencies } from './dependencies.ts';

const NEWEST_FIRST = {
  column: apiKeys.createdAt,
  id: apiKeys.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

export interface ApiKeyFilter {
  subject?: string | null | undefined;
  isActive?: boolean | null | undefined;
}

export async function listApiKeys(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  filter: ApiKeyFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<ApiKeyRow[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  const { subject, isActive } = filter;
  return deps.db
    .select()
    .from(apiKeys)
    .where(
      and(
        where,
        subject == null ? undefined : eq(apiKeys.subject, subject),
        isActive == null ? undefined : activity(isActive, deps.clock.now()),
      ),
    )
    .orderBy(...orderBy)
    .limit(page.limit);
}

function activity(isActive: boolean, now: Date) {
  return isActive
    ? and(isNull(apiKeys.revokedAt), gt(apiKeys.expiresAt, now))
    : or(isNotNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, now));
}

export async function findApiKey(deps: Pick<Dependencies, 'db'>, id: string): Promise<ApiKeyRow | null> {
  const [apiKey] = await deps.db.select().from(apiKeys).where(eq(apiKeys.id, id));
  return apiKey ?? null;
}

export function apiKeyCursor(apiKey: ApiKeyRow): KeysetCursor {
  return { value: apiKey.createdAt.toISOString(), id: apiKey.id };
}
