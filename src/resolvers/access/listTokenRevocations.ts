/**
 * Lists the revocations of bearer tokens that are in force, newest first.
 */
import { and, eq, gt, sql } from 'drizzle-orm';
import { isAmong } from '../../db/conditions.ts';
import { countRows, listRows, type KeysetCursor, type KeysetPage, newestFirst } from '../../db/keyset.ts';
import { tokenRevocations } from '../../db/tables/index.ts';
import type { TokenRevocationRow } from '../../identity/tokenRevocations.ts';
import type { Needs } from '../core/dependencies.ts';

const NEWEST_FIRST = newestFirst(tokenRevocations.revokedAt, tokenRevocations.id);

interface TokenRevocationFilter {
  jtis?: readonly string[] | null | undefined;
  subjects?: readonly string[] | null | undefined;
}

export function listTokenRevocations(
  deps: Needs<'db'>,
  filter: TokenRevocationFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<TokenRevocationRow[]> {
  return listRows(deps.db, tokenRevocations, NEWEST_FIRST, page, matching(filter));
}

export function countTokenRevocations(deps: Needs<'db'>, filter: TokenRevocationFilter): Promise<number> {
  return countRows(deps.db, tokenRevocations, matching(filter));
}

export async function findTokenRevocation(deps: Needs<'db'>, id: string): Promise<TokenRevocationRow | null> {
  const [row] = await deps.db
    .select()
    .from(tokenRevocations)
    .where(and(eq(tokenRevocations.id, id), isInForce()));
  return row ?? null;
}

function matching({ jtis, subjects }: TokenRevocationFilter) {
  return and(isInForce(), isAmong(tokenRevocations.jti, jtis), isAmong(tokenRevocations.subject, subjects));
}

function isInForce() {
  return gt(tokenRevocations.endsAt, sql`now()`);
}

export function tokenRevocationCursor(row: TokenRevocationRow): KeysetCursor {
  return { value: row.revokedAt.toISOString(), id: row.id };
}
