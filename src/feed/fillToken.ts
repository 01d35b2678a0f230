/**
 * Fills the feed (and the registry's stored records) from a token's own retirement list.
 *
 * The one writer of retirement records. Whatever says that something happened (a verified webhook, our own
 * settled burn, the periodic heal) only makes this look; what is stored is what the token says, in the
 * token's order, so the feed has no hole, no repeat and no retirement that did not happen.
 */
import { and, eq, inArray, isNull, max } from 'drizzle-orm';
import type { Clock } from '../clock.ts';
import type { Db, Tx } from '../db/connection.ts';
import type { Doorbell } from '../db/doorbell.ts';
import { feedHead, holderActs, indexerEvents, retirementRecords, retirements } from '../db/schema/index.ts';
import {
  MAX_RECORDS_PER_READ,
  NetworkUnavailable,
  type CarbonTotals,
  type LedgerNetwork,
  type RetirementRecord,
} from '../ledger/network/port.ts';

export interface FeedDependencies {
  db: Db;
  network: LedgerNetwork;
  clock: Clock;
  /** Rings with FEED_GREW when records were appended. */
  feedBell: Doorbell;
}

/** The doorbell's key for "the feed has grown". */
export const FEED_GREW = 'feed';

export interface FeedToken {
  projectId: string;
  tokenAddress: string;
}

/**
 * Reads what the token has beyond what is stored, page by page, and appends it.
 * @returns the token's totals at the last read; at least `totalRetirements` records are then stored.
 * @throws NetworkUnavailable, also for an answer that is not what was asked for; what was appended until then stays.
 */
export async function fillToken(deps: FeedDependencies, token: FeedToken): Promise<CarbonTotals> {
  for (;;) {
    const stored = await countStored(deps.db, token.tokenAddress);
    const page = await deps.network.retirementRecords(token.tokenAddress, stored, MAX_RECORDS_PER_READ);
    // Ends: each round stores at least one of finitely many records, or finds none.
    if (page.records.length === 0) return page.totals;
    requireInOrder(token, page.records, stored);
    await appendRecords(deps, token, page.records);
    if (stored + page.records.length >= page.totals.totalRetirements) return page.totals;
  }
}

/**
 * A node that answers with other records than those asked for would leave a hole that nothing fills any more,
 * or be asked the same thing for ever.
 */
function requireInOrder(token: FeedToken, records: readonly RetirementRecord[], fromIndex: number): void {
  const position = records.findIndex((record, i) => record.index !== fromIndex + i);
  if (position < 0) return;
  throw new NetworkUnavailable(
    `The records of ${token.tokenAddress} from ${fromIndex} on were asked for, but number ${position} of the ` +
      `answer has index ${records[position]?.index}. Nothing of it was stored.`,
  );
}

/** Records are stored in the token's order without a hole, so the highest index tells how many there are. */
export async function countStored(db: Pick<Db, 'select'>, tokenAddress: string): Promise<number> {
  const [row] = await db
    .select({ last: max(retirementRecords.index) })
    .from(retirementRecords)
    .where(eq(retirementRecords.tokenAddress, tokenAddress));
  return (row?.last ?? -1) + 1;
}

async function appendRecords(
  deps: FeedDependencies,
  token: FeedToken,
  records: readonly RetirementRecord[],
): Promise<void> {
  const appended = await deps.db.transaction(async (tx) => {
    // The head's row lock puts appends in one order on all instances: positions follow commits, so a reader
    // that has seen position n can never be surprised by a later commit of a smaller one.
    const [head] = await tx.select().from(feedHead).for('update');
    if (!head) throw new Error('feed_head has no row: migrations are incomplete');
    const stored = await countStored(tx, token.tokenAddress);
    const fresh = records.filter((record) => record.index >= stored);
    if (fresh.length === 0) return 0;
    const hashes = await knownHashes(tx, token, fresh);
    const appendedAt = deps.clock.now();
    await tx.insert(retirementRecords).values(
      fresh.map((record, i) => ({
        ...record,
        ...token,
        position: head.position + BigInt(i) + 1n,
        txHash: hashes.get(record.index) ?? null,
        appendedAt,
      })),
    );
    await tx.update(feedHead).set({ position: head.position + BigInt(fresh.length) });
    return fresh.length;
  });
  if (appended > 0) deps.feedBell.ring(FEED_GREW);
}

/** The token's record doesn't name its transaction: our own burns and the indexer's events do. */
async function knownHashes(
  tx: Tx,
  token: FeedToken,
  records: readonly RetirementRecord[],
): Promise<Map<number, string>> {
  const indexes = records.map((record) => record.index);
  const told = await tx
    .select({ index: indexerEvents.recordIndex, txHash: indexerEvents.txHash })
    .from(indexerEvents)
    .where(
      and(eq(indexerEvents.tokenAddress, token.tokenAddress), inArray(indexerEvents.recordIndex, indexes)),
    );
  const own = await tx
    .select({ index: retirements.recordIndex, txHash: retirements.txHash })
    .from(retirements)
    .where(and(eq(retirements.projectId, token.projectId), inArray(retirements.recordIndex, indexes)));
  const byHolders = await tx
    .select({ index: holderActs.recordIndex, txHash: holderActs.recordTxHash })
    .from(holderActs)
    .where(and(eq(holderActs.projectId, token.projectId), inArray(holderActs.recordIndex, indexes)));
  const hashes = new Map<number, string>();
  // Our own knowledge comes last and so prevails: it was read from the network itself.
  for (const { index, txHash } of [...told, ...own, ...byHolders]) {
    if (index !== null && txHash !== null) hashes.set(index, txHash);
  }
  return hashes;
}

/**
 * Completes a record whose transaction became known only after it was stored. Takes the head's lock, so that
 * an append under way either sees the hash itself or is seen here.
 */
export async function completeHash(
  db: Db,
  tokenAddress: string,
  index: number,
  txHash: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.select().from(feedHead).for('update');
    await tx
      .update(retirementRecords)
      .set({ txHash })
      .where(
        and(
          eq(retirementRecords.tokenAddress, tokenAddress),
          eq(retirementRecords.index, index),
          isNull(retirementRecords.txHash),
        ),
      );
  });
}
