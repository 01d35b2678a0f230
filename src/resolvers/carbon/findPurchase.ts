/**
 * Finds purchases by their ids.
 */
import { findById, findByIds } from '../../db/findByIds.ts';
import { purchases } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Purchase } from './purchase.ts';

export function findPurchase(deps: Needs<'db'>, id: string): Promise<Purchase | null> {
  return findById(deps.db, purchases, id);
}

export function findPurchases(deps: Needs<'db'>, ids: readonly string[]): Promise<Map<string, Purchase>> {
  return findByIds(deps.db, purchases, ids);
}
