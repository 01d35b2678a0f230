/**
 * Finds pledges of receipts: the open one, at most one at a time, and earlier ones.
 */
import { and, eq, inArray, isNull } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { finderOf } from '../../db/findByIds.ts';
import { listerOf, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { receiptPledges } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';

export type ReceiptPledge = typeof receiptPledges.$inferSelect;

export const findPledge = finderOf(receiptPledges);

/** The open pledges, by receipt. */
export async function findOpenPledges(
  { db }: { db: Pick<Db, 'select'> },
  receiptIds: readonly string[],
): Promise<ReadonlyMap<string, ReceiptPledge>> {
  const rows = await db
    .select()
    .from(receiptPledges)
    .where(and(inArray(receiptPledges.receiptId, [...receiptIds]), isNull(receiptPledges.releasedAt)));
  return new Map(rows.map((pledge) => [pledge.receiptId, pledge]));
}

/** @throws DomainError RECEIPT_PLEDGED */
export async function requireUnpledged(
  deps: { db: Pick<Db, 'select'> },
  { id, tokenAddress }: { id: string; tokenAddress: string },
): Promise<void> {
  const openPledge = (await findOpenPledges(deps, [id])).get(id);
  if (openPledge === undefined) return;
  throw new DomainError(
    'RECEIPT_PLEDGED',
    `The receipt at ${tokenAddress} is pledged to ${openPledge.lenderName} (loan reference "${openPledge.loanReference}"), who has to ` +
      'release that pledge first.',
    { field: 'input.receiptTokenAddress' },
  );
}

const listed = listerOf(receiptPledges, 'pledgedAt', {
  receiptId: (id: string) => eq(receiptPledges.receiptId, id),
  lenderId: (id: string) => eq(receiptPledges.lenderId, id),
});

/** All pledges of a receipt, or those to one lender. Without the receipt, those of all receipts would be listed. */
export function listPledges(
  deps: Needs<'db'>,
  filter: { receiptId: string; lenderId: string | undefined },
): PageSource<ReceiptPledge, KeysetCursor> {
  return listed(deps, filter);
}
