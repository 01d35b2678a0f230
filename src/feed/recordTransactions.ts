/**
 * Finds the transactions of retirement records, which the token's own list does not name: from the network's
 * logs, or from the platform's attempts. An indexer's delivery is a hint, deleted once the network was asked.
 */
import { and, asc, desc, eq, exists, gt, isNull, sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { isOneOf } from '../db/manyRows.ts';
import { feedHead, indexerEvents, retirementRecords } from '../db/tables/index.ts';
import { chunksOf } from '../lib/chunksOf.ts';
import type { LedgerNetwork, RetirementRecord, WantedTransaction } from '../ledger/network/port.ts';

interface Deps {
  db: Db;
  network: Pick<LedgerNetwork, 'retirementTransactions'>;
}

type Unknown = Pick<RetirementRecord, 'index' | 'timestamp'>;

/** Records per question to the network. */
const MAX_RECORDS_PER_POLL = 50;
/** Tokens per look: each may cost some dozens of requests to the node. */
const MAX_TOKENS_PER_POLL = 4;
/** Hints that are read per record: a lying indexer may send any number. */
const MAX_HINTS_PER_RECORD = 4;
/** Age at which a hint is deleted: a token may not have a record yet, but never for so long. */
const HINT_LASTS_DAYS = 7;
const MAX_DELETED = 1_000;

/** Finds transactions of records not stored yet that hints name and the network confirms. Never rejects. */
export async function verifyHints(
  deps: Deps,
  tokenAddress: string,
  records: readonly Unknown[],
): Promise<ReadonlyMap<number, string>> {
  const verified = new Map<number, string>();
  // A failure does not keep the record from being stored: its transaction can be added later.
  const all = await withHints(deps.db, tokenAddress, records).catch(() => []);
  const hinted = all.filter(({ hints }) => hints.length > 0);
  for (const page of chunksOf(hinted, MAX_RECORDS_PER_POLL)) {
    const found = await askAbout(deps, tokenAddress, page).catch(() => []);
    for (const [index, txHash] of found) verified.set(index, txHash);
  }
  return verified;
}

/** Looks up the transactions of stored records that have hints. @throws NetworkUnavailable */
export async function completeHinted(deps: Deps, tokenAddress: string): Promise<void> {
  await deleteUnneeded(deps, tokenAddress);
  const hints = deps.db
    .select({ id: indexerEvents.id })
    .from(indexerEvents)
    .where(
      and(
        eq(indexerEvents.tokenAddress, retirementRecords.tokenAddress),
        eq(indexerEvents.recordIndex, retirementRecords.index),
      ),
    );
  const records = await deps.db
    .select({ index: retirementRecords.index, timestamp: retirementRecords.timestamp })
    .from(retirementRecords)
    .where(
      and(eq(retirementRecords.tokenAddress, tokenAddress), isNull(retirementRecords.txHash), exists(hints)),
    )
    .orderBy(desc(retirementRecords.index))
    .limit(MAX_RECORDS_PER_POLL);
  if (records.length > 0) await complete(deps, tokenAddress, records);
}

/** Deletes hints that are never looked up: of deliveries that came late, or twice, or about no retirement. */
async function deleteUnneeded({ db }: Pick<Deps, 'db'>, tokenAddress: string): Promise<void> {
  await db.execute(sql`
    DELETE FROM ${indexerEvents} WHERE id IN (
      SELECT e.id FROM ${indexerEvents} e
        LEFT JOIN ${retirementRecords} r ON r.token_address = e.token_address AND r.index = e.record_index
      WHERE e.token_address = ${tokenAddress}
        AND (r.tx_hash IS NOT NULL OR e.received_at < now() - make_interval(days => ${HINT_LASTS_DAYS}))
      LIMIT ${MAX_DELETED})`);
}

/**
 * Looks up the next records with an unknown transaction, in the feed's order.
 * @returns where to continue, or null at the end; how many were found; and the error of each token that was
 *   not looked up, which must not keep the others from being looked up
 */
export async function completeNext(
  deps: Deps,
  after: bigint,
): Promise<{ next: bigint | null; completed: number; failures: unknown[] }> {
  const rows = await deps.db
    .select({
      position: retirementRecords.position,
      tokenAddress: retirementRecords.tokenAddress,
      index: retirementRecords.index,
      timestamp: retirementRecords.timestamp,
    })
    .from(retirementRecords)
    .where(and(isNull(retirementRecords.txHash), gt(retirementRecords.position, after)))
    .orderBy(asc(retirementRecords.position))
    .limit(MAX_RECORDS_PER_POLL);
  const byToken = new Map<string, Unknown[]>();
  let last: bigint | null = null;
  for (const { position, tokenAddress, index, timestamp } of rows) {
    if (byToken.size === MAX_TOKENS_PER_POLL && !byToken.has(tokenAddress)) break;
    byToken.set(tokenAddress, [...(byToken.get(tokenAddress) ?? []), { index, timestamp }]);
    last = position;
  }
  let completed = 0;
  const failures: unknown[] = [];
  for (const [tokenAddress, records] of byToken) {
    const found = complete(deps, tokenAddress, records);
    completed += await found.catch((error: unknown) => (failures.push(error), 0));
  }
  return { next: last, completed, failures };
}

async function complete(deps: Deps, tokenAddress: string, records: readonly Unknown[]): Promise<number> {
  const found = await askAbout(deps, tokenAddress, await withHints(deps.db, tokenAddress, records));
  await completeHashes(
    deps.db,
    [...found].map(([recordIndex, txHash]) => ({ tokenAddress, recordIndex, txHash })),
  );
  return found.size;
}

/** Asks the network for the records' transactions, then deletes their hints, confirmed or not. */
async function askAbout(
  { db, network }: Deps,
  tokenAddress: string,
  wanted: readonly WantedTransaction[],
): Promise<ReadonlyMap<number, string>> {
  const found = await network.retirementTransactions(tokenAddress, wanted);
  const hinted = wanted.filter(({ hints }) => hints.length > 0).map(({ index }) => index);
  if (hinted.length > 0) await db.delete(indexerEvents).where(isAbout(tokenAddress, hinted));
  return found;
}

async function withHints(
  db: Db,
  tokenAddress: string,
  records: readonly Unknown[],
): Promise<WantedTransaction[]> {
  const indexes = records.map(({ index }) => index);
  const rows = await db
    .select({ index: indexerEvents.recordIndex, txHash: indexerEvents.txHash })
    .from(indexerEvents)
    .where(isAbout(tokenAddress, indexes))
    .orderBy(asc(indexerEvents.receivedAt))
    .limit(indexes.length * MAX_HINTS_PER_RECORD);
  const hints = new Map(indexes.map((index): [number, string[]] => [index, []]));
  for (const { index, txHash } of rows) hints.get(index)?.push(txHash);
  return records.map(({ index, timestamp }) => ({ index, timestamp, hints: hints.get(index) ?? [] }));
}

function isAbout(tokenAddress: string, indexes: readonly number[]) {
  const { tokenAddress: token, recordIndex } = indexerEvents;
  return and(eq(token, tokenAddress), isOneOf(recordIndex, indexes.map(String)));
}

/** A record, and the transaction that made it. */
interface RecordHash {
  tokenAddress: string;
  recordIndex: number;
  txHash: string;
}

/**
 * Completes records whose transactions became known after they were stored. Takes the lock of the feed's
 * head, so that a concurrent append either reads the hash, or has appended the record before this update.
 */
export async function completeHashes(db: Db, known: readonly RecordHash[]): Promise<void> {
  if (known.length === 0) return;
  const rows = JSON.stringify(
    known.map(({ tokenAddress, recordIndex, txHash }) => [tokenAddress, recordIndex, txHash]),
  );
  await db.transaction(async (tx) => {
    await tx.select().from(feedHead).for('update');
    await tx.execute(sql`
      UPDATE ${retirementRecords} r SET tx_hash = v ->> 2
      FROM json_array_elements(${rows}::text::json) v
      WHERE r.token_address = v ->> 0 AND r.index = (v ->> 1)::integer AND r.tx_hash IS NULL`);
  });
}
