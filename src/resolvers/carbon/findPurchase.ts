/**
 * Finds purchases by their ids.
 */
import { eq, inArray } from 'drizzle-orm';
import { purchases } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Purchase } from './purchase.ts';

export async function findPurchase(deps: Needs<'db'>, id: string): Promise<Purchase | null> {
  const [purchase] = await deps.db.select().from(purchases).where(eq(purchases.id, id));
  return purchase ?? null;
}

export async function findPurchases(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<Map<string, Purchase>> {
  const found = await deps.db
    .select()
    .from(purchases)
    .where(inArray(purchases.id, [...ids]));
  return new Map(found.map((purchase) => [purchase.id, purchase]));
}
