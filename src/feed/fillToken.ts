/**
 * Fills the feed (and the registry's stored records) from a token's own retirement list. A verified webhook, a settled
 * burn and the periodic heal only trigger a read.
 */
import type { Clock } from '../lib/clock.ts';
import type { Db } from '../db/connection.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import { MAX_RECORDS_PER_READ, type CarbonTotals, type LedgerNetwork } from '../ledger/network/port.ts';
import { appendRecords, countStored, requireInOrder, type FeedToken } from './appendRecords.ts';
import { verifyHints } from './recordTransactions.ts';

export interface FeedDependencies {
  db: Db;
  network: LedgerNetwork;
  clock: Clock;
  /** Notified with FEED_GREW when records were appended. */
  feedSignal: ChangeSignal;
}

/** The change signal's key for "the feed has grown". */
export const FEED_GREW = 'feed';

/**
 * Reads the token's records beyond the stored ones, page by page, and appends them.
 * @returns the token's totals at the last read; at least `totalRetirements` records are then stored
 * @throws NetworkUnavailable, also for an answer to another question; what was appended by then stays
 */
export async function fillToken(deps: FeedDependencies, token: FeedToken): Promise<CarbonTotals> {
  for (;;) {
    const stored = await countStored(deps.db, token.tokenAddress);
    const page = await deps.network.retirementRecords(token.tokenAddress, stored, MAX_RECORDS_PER_READ);
    // Terminates: each round stores at least one of finitely many records, or finds none.
    if (page.records.length === 0) return page.totals;
    requireInOrder(token.tokenAddress, page.records, stored);
    const verified = await verifyHints(deps, token.tokenAddress, page.records);
    const { records } = page;
    const { appended } = await deps.db.transaction((tx) =>
      appendRecords(tx, [{ token, records, verified }], deps.clock.now()),
    );
    if (appended > 0) deps.feedSignal.notify(FEED_GREW);
    if (stored + page.records.length >= page.totals.totalRetirements) return page.totals;
  }
}
