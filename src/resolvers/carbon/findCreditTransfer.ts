/**
 * Finds credit transfers by their ids.
 */
import { eq } from 'drizzle-orm';
import { findByIds } from '../../db/findByIds.ts';
import { creditTransfers } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

export type CreditTransfer = typeof creditTransfers.$inferSelect;

export async function findCreditTransfer(deps: Needs<'db'>, id: string): Promise<CreditTransfer | null> {
  const [found] = await deps.db.select().from(creditTransfers).where(eq(creditTransfers.id, id));
  return found ?? null;
}

export function findCreditTransfers(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<Map<string, CreditTransfer>> {
  return findByIds(deps.db, creditTransfers, ids);
}
