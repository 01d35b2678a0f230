/**
 * Finds pledges of receipts: the open one, one at a time, and those before it.
 */
import { and, eq, inArray, isNull } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { countRows, listRows, type KeysetCursor, type KeysetPage, newestFirst } from '../../db/keyset.ts';
import { receiptPledges } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';

export type ReceiptPledge = typeof receiptPledges.$inferSelect;

export async function findPledge(deps: Needs<'db'>, id: string): Promise<ReceiptPledge | null> {
  const [pledge] = await deps.db.select().from(receiptPledges).where(eq(receiptPledges.id, id));
  return pledge ?? null;
}

/** One that the caller knows to exist. */
export async function requirePledge(deps: Needs<'db'>, id: string): Promise<ReceiptPledge> {
  const pledge = await findPledge(deps, id);
  if (!pledge) throw new Error(`pledge ${id} has vanished`);
  return pledge;
}

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

const NEWEST_FIRST = newestFirst(receiptPledges.pledgedAt, receiptPledges.id);

/** All of a receipt's, or those of one lender. */
interface PledgeFilter {
  receiptId: string;
  lenderId: string | undefined;
}

const matching = ({ receiptId, lenderId }: PledgeFilter) =>
  and(
    eq(receiptPledges.receiptId, receiptId),
    lenderId === undefined ? undefined : eq(receiptPledges.lenderId, lenderId),
  );

export function listPledges(
  deps: Needs<'db'>,
  filter: PledgeFilter,
  page: KeysetPage<KeysetCursor>,
): Promise<ReceiptPledge[]> {
  return listRows(deps.db, receiptPledges, NEWEST_FIRST, page, matching(filter));
}

export function countPledges(deps: Needs<'db'>, filter: PledgeFilter): Promise<number> {
  return countRows(deps.db, receiptPledges, matching(filter));
}

export function pledgeCursor(pledge: ReceiptPledge): KeysetCursor {
  return { value: pledge.pledgedAt.toISOString(), id: pledge.id };
}
