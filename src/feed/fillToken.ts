/**
 * Fills the feed (and the registry's stored records) from a token's own retirement list. A verified webhook,
 * a settled burn and the periodic comparison only trigger a read.
 */
import type { Clock } from '../lib/clock.ts';
import type { Db } from '../db/connection.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import pLimit from 'p-limit';
import {
  MAX_RECORDS_PER_READ,
  NetworkUnavailable,
  type CarbonTotals,
  type LedgerNetwork,
  type RetirementPage,
  type RetirementRecord,
} from '../ledger/network/port.ts';
import { appendRecords, countStored, requireInOrder, type FeedToken } from './appendRecords.ts';
import { verifyHints } from './recordTransactions.ts';

export interface FeedDependencies {
  db: Db;
  network: LedgerNetwork;
  clock: Clock;
  /** Notified with FEED_GREW when records were appended. */
  feedSignal: ChangeSignal;
}

/** Maximum pages stored in one transaction: their rows fit one statement. */
const MAX_PAGES = 10;
/** Pages of one token that are read at once. */
const MAX_CONCURRENT_PAGES = 4;

/** The change signal's key for "the feed has grown". */
export const FEED_GREW = 'feed';

/** The token's chain was rewritten below finality, and has another record in the place of a stored one. */
export class HistoryRewritten extends NetworkUnavailable {
  override readonly name = 'HistoryRewritten';
  /** The record's index. */
  readonly index: number;
  readonly totals: CarbonTotals;

  constructor(tokenAddress: string, index: number, totals: CarbonTotals) {
    super(
      `The record ${index} of ${tokenAddress} is not the stored one: the chain was rewritten. Nothing after it is stored.`,
    );
    this.index = index;
    this.totals = totals;
  }
}

/**
 * The token has more records than are stored, in a history that contradicts what was final and is not
 * accepted. Another node, or the same one a moment later, may show other records in their places, and stored
 * records stay.
 */
export class HistoryUnaccepted extends NetworkUnavailable {
  override readonly name = 'HistoryUnaccepted';
  /** How many records are stored. */
  readonly stored: number;
  readonly totals: CarbonTotals;

  constructor(tokenAddress: string, stored: number, { totals, rewritten }: RetirementPage) {
    super(
      `The records of ${tokenAddress} from ${stored} on are stored once that history is accepted. ${rewritten}`,
    );
    this.stored = stored;
    this.totals = totals;
  }
}

/**
 * Reads the token's records beyond the stored ones, page by page, and appends them.
 * @returns the token's totals at the last read; at least `totalRetirements` records are then stored
 * @throws NetworkUnavailable, also for an answer to another question; HistoryRewritten; HistoryUnaccepted.
 *   Records appended by then stay.
 */
export async function fillToken(deps: FeedDependencies, token: FeedToken): Promise<CarbonTotals> {
  for (;;) {
    const stored = await countStored(deps.db, token.tokenAddress);
    const page = await deps.network.retirementRecords(token.tokenAddress, stored, MAX_RECORDS_PER_READ);
    // The loop ends: each round stores at least one of finitely many records, or finds none.
    if (page.records.length === 0) return page.totals;
    if (page.rewritten !== undefined) throw new HistoryUnaccepted(token.tokenAddress, stored, page);
    requireInOrder(token.tokenAddress, page.records, stored);
    const [last, more] = await Promise.all([
      readLast(deps, token.tokenAddress, stored),
      readOn(deps, token.tokenAddress, stored, page),
    ]);
    const fresh = [...page.records, ...more];
    const verified = await verifyHints(deps, token.tokenAddress, fresh);
    const { appended, stored: counts } = await deps.db.transaction((tx) =>
      appendRecords(tx, [{ token, records: [...last, ...fresh], verified }], deps.clock.now()),
    );
    if (appended > 0) deps.feedSignal.notify(FEED_GREW);
    const count = counts.get(token.tokenAddress) ?? 0;
    if (count < stored + fresh.length) {
      throw new HistoryRewritten(token.tokenAddress, count - 1, page.totals);
    }
    if (stored + fresh.length >= page.totals.totalRetirements) return page.totals;
  }
}

/**
 * The last stored record, as the token has it now. Read only when there are next records: for a registry that
 * is looked at, there are usually none, and the read would be a useless round trip.
 */
async function readLast(
  { network }: Pick<FeedDependencies, 'network'>,
  tokenAddress: string,
  stored: number,
): Promise<readonly RetirementRecord[]> {
  if (stored === 0) return [];
  return (await network.retirementRecords(tokenAddress, stored - 1, 1)).records;
}

/**
 * The pages after the first one of a long history, to be stored together with it, up to the first page
 * without an answer or with other records than asked for. The next round asks for that page again.
 */
async function readOn(
  { network }: Pick<FeedDependencies, 'network'>,
  tokenAddress: string,
  stored: number,
  first: RetirementPage,
): Promise<RetirementRecord[]> {
  // It is the last page, or has very long texts, as the next ones may: one of those is enough for a transaction.
  if (first.records.length < MAX_RECORDS_PER_READ) return [];
  const end = Math.min(first.totals.totalRetirements, stored + MAX_PAGES * MAX_RECORDS_PER_READ);
  const starts: number[] = [];
  for (let from = stored + first.records.length; from < end; from += MAX_RECORDS_PER_READ) starts.push(from);
  const limit = pLimit(MAX_CONCURRENT_PAGES);
  const pages = await Promise.allSettled(
    starts.map((from) => limit(() => network.retirementRecords(tokenAddress, from, MAX_RECORDS_PER_READ))),
  );
  const records: RetirementRecord[] = [];
  for (const page of pages) {
    if (page.status === 'rejected' || page.value.rewritten !== undefined) break;
    // After a page that ends early, the next one does not continue it.
    const next = stored + first.records.length + records.length;
    if (page.value.records.some(({ index }, at) => index !== next + at)) break;
    records.push(...page.value.records);
  }
  return records;
}
