/**
 * Adds the records of landed burns to the feed in the transaction that settles the burns. The records are
 * read before the transaction, once for all burns of a token. The feed filler adds records that can't be read
 * or stored now, so that they delay no settlement.
 */
import { sql } from 'drizzle-orm';
import type { Tx } from '../db/connection.ts';
import { retirementRecords } from '../db/tables/index.ts';
import { withTimeout } from '../lib/timeout.ts';
import { MAX_RECORDS_PER_READ, type RetirementRecord } from '../ledger/network/port.ts';
import { appendRecords, countStoredOf, requireInOrder, type FeedToken } from './appendRecords.ts';
import type { FeedDependencies } from './fillToken.ts';

/** A landed burn of this platform. */
export interface SettledBurn extends FeedToken {
  recordIndex: number;
  txHash: string | null;
}

export interface Recorded {
  /** How many records were appended. */
  appended: number;
  /** The tokens whose burns are not all stored yet. */
  behind: FeedToken[];
}

/** By token address. */
export type UnstoredRecords = ReadonlyMap<string, readonly RetirementRecord[]>;

/** Tokens read for one settling transaction; the feed filler reads the others. */
const MAX_TOKENS = 8;
/** A slower node must not delay the settlement. */
const READ_TIMEOUT_MS = 1_000;
const NONE: ReadonlyMap<number, string> = new Map();

/**
 * Reads the records of these tokens that the feed lacks, and the last one that it has. Never rejects: the
 * feed filler adds the missing ones.
 */
export async function readUnstored(
  { db, network }: Pick<FeedDependencies, 'db' | 'network'>,
  tokenAddresses: readonly string[],
): Promise<UnstoredRecords> {
  const unstored = new Map<string, readonly RetirementRecord[]>();
  const read = async (tokenAddress: string, from: number) => {
    const { records, rewritten } = await network.retirementRecords(tokenAddress, from, MAX_RECORDS_PER_READ);
    // The feed filler stores them once that history is accepted.
    if (rewritten !== undefined) return;
    requireInOrder(tokenAddress, records, from);
    unstored.set(tokenAddress, records);
  };
  const readAll = async () => {
    const tokens = tokenAddresses.slice(0, MAX_TOKENS);
    const stored = await countStoredOf(db, tokens);
    await Promise.allSettled(tokens.map((token) => read(token, Math.max(0, (stored.get(token) ?? 0) - 1))));
  };
  await withTimeout(READ_TIMEOUT_MS, readAll()).catch(() => {});
  return unstored;
}

/** Locks the feed's head until the transaction ends: call it late. */
export async function recordSettled(
  tx: Tx,
  unstored: UnstoredRecords,
  burns: readonly SettledBurn[],
  at: Date,
): Promise<Recorded> {
  const tokens = new Map(
    burns.map(({ projectId, tokenAddress }) => [tokenAddress, { projectId, tokenAddress }]),
  );
  const fresh = [...tokens.values()].map((token) => ({
    token,
    records: unstored.get(token.tokenAddress) ?? [],
    verified: NONE,
  }));
  const { appended, before, stored } = await appendRecords(tx, fresh, at);
  // Burns whose records were stored before this settlement.
  const late = burns.filter(({ tokenAddress, recordIndex }) => recordIndex < (before.get(tokenAddress) ?? 0));
  await noteClaimed(tx, late);
  const isBehind = (burn: SettledBurn) => burn.recordIndex >= (stored.get(burn.tokenAddress) ?? 0);
  const behind = new Set(burns.filter(isBehind).map(({ tokenAddress }) => tokenAddress));
  return { appended, behind: [...tokens.values()].filter(({ tokenAddress }) => behind.has(tokenAddress)) };
}

/** Notes that a retirement claims these records, and their transactions, which the records may lack. */
async function noteClaimed(tx: Tx, burns: readonly SettledBurn[]): Promise<void> {
  if (burns.length === 0) return;
  const rows = JSON.stringify(
    burns.map(({ tokenAddress, recordIndex, txHash }) => [tokenAddress, recordIndex, txHash]),
  );
  await tx.execute(sql`
    UPDATE ${retirementRecords} r SET is_claimed = true, tx_hash = coalesce(r.tx_hash, v ->> 2)
    FROM json_array_elements(${rows}::text::json) v
    WHERE r.token_address = v ->> 0 AND r.index = (v ->> 1)::integer AND NOT r.is_claimed`);
}
