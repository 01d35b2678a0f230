/**
 * Lists API keys, newest first: what they may do and whether they still can, never the keys.
 */
import { and, eq, gt, isNotNull, isNull, lte, or, sql, type SQL } from 'drizzle-orm';
import { countRows, keyset, type KeysetCursor, type KeysetPage } from '../../db/keyset.ts';
import { apiKeys } from '../../db/tables/index.ts';
import type { ApiKeyRow } from '../../identity/apiKeys.ts';
import type { Needs } from '../core/dependencies.ts';

const NEWEST_FIRST = {
  column: apiKeys.createdAt,
  id: apiKeys.id,
  type: 'timestamptz',
  direction: 'desc',
} as const;

interface ApiKeyFilter {
  subject?: string | null | undefined;
  isActive?: boolean | null | undefined;
}

export async function listApiKeys(
  deps: Needs<'db'>,
  filter: ApiKeyFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<ApiKeyRow[]> {
  const { where, orderBy } = keyset(NEWEST_FIRST, page);
  return deps.db
    .select()
    .from(apiKeys)
    .where(and(where, matching(filter)))
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function countApiKeys(deps: Needs<'db'>, filter: ApiKeyFilter): Promise<number> {
  return countRows(deps.db, apiKeys, matching(filter));
}

function matching({ subject, isActive }: ApiKeyFilter): SQL | undefined {
  return and(
    subject == null ? undefined : eq(apiKeys.subject, subject),
    isActive == null ? undefined : activity(isActive),
  );
}

function activity(isActive: boolean) {
  return isActive
    ? and(isNull(apiKeys.revokedAt), gt(apiKeys.expiresAt, sql`now()`))
    : or(isNotNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, sql`now()`));
}

export async function findApiKey(deps: Needs<'db'>, id: string): Promise<ApiKeyRow | null> {
  const [apiKey] = await deps.db.select().from(apiKeys).where(eq(apiKeys.id, id));
  return apiKey ?? null;
}

export function apiKeyCursor(apiKey: ApiKeyRow): KeysetCursor {
  return { value: apiKey.createdAt.toISOString(), id: apiKey.id };
}
