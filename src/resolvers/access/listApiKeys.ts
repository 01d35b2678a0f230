/**
 * Lists API keys, newest first: what they may do and whether they still can, never the keys.
 */
import { and, arrayOverlaps, gt, isNotNull, isNull, lte, or, sql, type SQL } from 'drizzle-orm';
import { isAmong, isWithin } from '../../db/conditions.ts';
import { findById } from '../../db/findByIds.ts';
import { rowsByMoment, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { apiKeys } from '../../db/tables/index.ts';
import type { ApiKeyRow } from '../../identity/apiKeys.ts';
import type { Role } from '../../identity/roles.ts';
import type { Needs } from '../core/dependencies.ts';

const keys = rowsByMoment(apiKeys, 'createdAt');

interface ApiKeyFilter {
  subjects?: readonly string[] | null | undefined;
  /** Keys that have one of these roles, perhaps beside others. */
  roles?: readonly Role[] | null | undefined;
  isActive?: boolean | null | undefined;
  /** Unix seconds; the end of a range is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
  expiresFrom?: bigint | null | undefined;
  expiresUntil?: bigint | null | undefined;
}

export function listApiKeys(deps: Needs<'db'>, filter: ApiKeyFilter): PageSource<ApiKeyRow, KeysetCursor> {
  return keys(deps.db, matching(filter));
}

function matching(filter: ApiKeyFilter): SQL | undefined {
  const { subjects, roles, isActive } = filter;
  return and(
    isAmong(apiKeys.subject, subjects),
    roles == null ? undefined : hasOneOf(roles),
    isActive == null ? undefined : activity(isActive),
    isWithin(apiKeys.createdAt, filter.from, filter.until),
    isWithin(apiKeys.expiresAt, filter.expiresFrom, filter.expiresUntil),
  );
}

function hasOneOf(roles: readonly Role[]): SQL {
  return roles.length === 0 ? sql`false` : arrayOverlaps(apiKeys.roles, [...roles]);
}

function activity(isActive: boolean) {
  return isActive
    ? and(isNull(apiKeys.revokedAt), gt(apiKeys.expiresAt, sql`now()`))
    : or(isNotNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, sql`now()`));
}

export function findApiKey(deps: Needs<'db'>, id: string): Promise<ApiKeyRow | null> {
  return findById(deps.db, apiKeys, id);
}
