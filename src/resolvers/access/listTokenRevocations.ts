/**
 * Lists the revocations of bearer tokens that are in force, newest first.
 */
import { and, eq, gt, sql } from 'drizzle-orm';
import { isAmong } from '../../db/conditions.ts';
import { rowsByMoment, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { tokenRevocations } from '../../db/tables/index.ts';
import type { TokenRevocationRow } from '../../identity/tokenRevocations.ts';
import type { Needs } from '../core/dependencies.ts';

const revocations = rowsByMoment(tokenRevocations, 'revokedAt');

interface TokenRevocationFilter {
  jtis?: readonly string[] | null | undefined;
  subjects?: readonly string[] | null | undefined;
}

export function listTokenRevocations(
  deps: Needs<'db'>,
  { jtis, subjects }: TokenRevocationFilter,
): PageSource<TokenRevocationRow, KeysetCursor> {
  const isMeant = and(
    isInForce(),
    isAmong(tokenRevocations.jti, jtis),
    isAmong(tokenRevocations.subject, subjects),
  );
  return revocations(deps.db, isMeant);
}

export async function findTokenRevocation(deps: Needs<'db'>, id: string): Promise<TokenRevocationRow | null> {
  const [row] = await deps.db
    .select()
    .from(tokenRevocations)
    .where(and(eq(tokenRevocations.id, id), isInForce()));
  return row ?? null;
}

function isInForce() {
  return gt(tokenRevocations.endsAt, sql`now()`);
}
