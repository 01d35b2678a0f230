/**
 * Reads the feed's table: its end, and pages of records after a position.
 */
import { and, asc, count, desc, eq, getTableColumns, gt, lte, sql, sum, type SQL } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Db, Tx } from '../db/connection.ts';
import { findBy } from '../db/findByIds.ts';
import { hotSelect } from '../db/hotQueries.ts';
import { createSharedRead } from '../db/sharedReads.ts';
import { feedHead, projects, retirementRecords } from '../db/tables/index.ts';
import { conditionOf, namesFew, type FeedFilter, type FeedRecord, type PlacedRecord } from './feedFilter.ts';

/** Rows read at once per replaying subscriber, which keeps no others in memory. */
export const PAGE_SIZE = 50;
/** Positions searched at once for a filter that few records match; bounds the time of one statement. */
const WINDOW = 5_000n;

/** The position of the newest record; 0 when there is none. */
export async function readHead(db: Db | Tx): Promise<bigint> {
  const [head] = await db.select().from(feedHead);
  return head?.position ?? 0n;
}

/** The newest record; null when there is none. */
export async function readNewest(db: Db | Tx): Promise<PlacedRecord | null> {
  const [newest] = await selectPlaced(db).orderBy(desc(retirementRecords.position)).limit(1);
  return newest ?? null;
}

const findByPosition = findBy(retirementRecords, retirementRecords.position);

/** After a restart all subscribers resume at once, most of them after the same few records. */
export const readAt = createSharedRead<bigint, FeedRecord>(async (db, positions) => {
  const records = await findByPosition(db, positions.map(String));
  return new Map(records.map((record) => [record.position, record]));
});

/** @param boundary the last position read: a replica may show unconfirmed records, which a failover loses */
export async function readStored(db: Db | Tx, cursor: bigint, filter: FeedFilter, boundary?: bigint) {
  // The end is read first, so a record committed in between is found by the next read.
  const stored = await readHead(db);
  const head = boundary !== undefined && boundary < stored ? boundary : stored;
  const end = namesFew(filter) && cursor + WINDOW < head ? cursor + WINDOW : head;
  const condition = and(lte(retirementRecords.position, end), conditionOf(filter));
  const records = await readAfter(db, cursor, condition, PAGE_SIZE);
  return { records, lookedTo: records.length < PAGE_SIZE ? end : cursor };
}

/**
 * Whether records have got a hash, another date or, in a database that lost and read them again, another
 * position since they were read. Nothing else of an appended record changes.
 * @param those the condition that finds the same records
 */
export async function haveChanged(
  db: Db,
  records: readonly FeedRecord[],
  those: SQL | undefined,
): Promise<boolean> {
  const { txHash, timestamp, position } = retirementRecords;
  const [stored] = await db
    .select({ hashes: count(txHash), dates: sum(timestamp), positions: sum(position) })
    .from(retirementRecords)
    .where(those);
  const hashes = records.filter((record) => record.txHash !== null).length;
  const dates = records.reduce((total, record) => total + record.timestamp, 0n);
  const positions = records.reduce((total, record) => total + record.position, 0n);
  return (
    hashes !== stored?.hashes ||
    dates !== BigInt(stored.dates ?? 0) ||
    positions !== BigInt(stored.positions ?? 0)
  );
}

/** At most `limit` records behind the position `cursor`, ascending, with the fields of their projects. */
export function readAfter(
  db: Db | Tx,
  cursor: bigint,
  condition: SQL | undefined,
  limit: number,
): Promise<PlacedRecord[]> {
  return selectPlaced(db)
    .where(and(gt(retirementRecords.position, cursor), condition))
    .orderBy(asc(retirementRecords.position))
    .limit(limit);
}

const PLACED = {
  ...getTableColumns(retirementRecords),
  countryCode: projects.countryCode,
  vintageYear: projects.vintageYear,
};
const OF_ITS_PROJECT = eq(projects.id, retirementRecords.projectId);

const selectPage = hotSelect(
  new QueryBuilder()
    .select(PLACED)
    .from(retirementRecords)
    .innerJoin(projects, OF_ITS_PROJECT)
    .where(gt(retirementRecords.position, sql.placeholder('cursor')))
    .orderBy(asc(retirementRecords.position))
    .limit(sql.placeholder('limit')),
);

/** The next records, without a filter. */
export function readPage(db: Db | Tx, cursor: bigint, limit: number): Promise<PlacedRecord[]> {
  return selectPage(db, { cursor, limit });
}

function selectPlaced(db: Db | Tx) {
  return db.select(PLACED).from(retirementRecords).innerJoin(projects, OF_ITS_PROJECT);
}
