/**
 * Finds credit transfers by their ids.
 */
import { eq, inArray } from 'drizzle-orm';
import { creditTransfers } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

export type CreditTransfer = typeof creditTransfers.$inferSelect;

export async function findCreditTransfer(deps: Needs<'db'>, id: string): Promise<CreditTransfer | null> {
  const [found] = await deps.db.select().from(creditTransfers).where(eq(creditTransfers.id, id));
  return found ?? null;
}

export async function findCreditTransfers(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<Map<string, CreditTransfer>> {
  const found = await deps.db
    .select()
    .from(creditTransfers)
    .where(inArray(creditTransfers.id, [...ids]));
  return new Map(found.map((transfer) => [transfer.id, transfer]));
}
