/**
 * Finds purchases by their ids.
 */
import { eq } from 'drizzle-orm';
import { findByIds } from '../../db/findByIds.ts';
import { purchases } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Purchase } from './purchase.ts';

export async function findPurchase(deps: Needs<'db'>, id: string): Promise<Purchase | null> {
  const [purchase] = await deps.db.select().from(purchases).where(eq(purchases.id, id));
  return purchase ?? null;
}

export function findPurchases(deps: Needs<'db'>, ids: readonly string[]): Promise<Map<string, Purchase>> {
  return findByIds(deps.db, purchases, ids);
}
