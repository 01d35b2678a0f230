/**
 * Finds credit transfers by their ids.
 */
import { findById, findByIds } from '../../db/findByIds.ts';
import { creditTransfers } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

export type CreditTransfer = typeof creditTransfers.$inferSelect;

export function findCreditTransfer(deps: Needs<'db'>, id: string): Promise<CreditTransfer | null> {
  return findById(deps.db, creditTransfers, id);
}

export function findCreditTransfers(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<Map<string, CreditTransfer>> {
  return findByIds(deps.db, creditTransfers, ids);
}
