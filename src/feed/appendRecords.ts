/**
 * Appends a token's next records to the feed, within the caller's transaction. No other place adds retirement
 * records.
 *
 * Records are stored as the token has them, in the token's order, so the feed has no gap, no repeat and no
 * retirement that did not happen.
 */
import { and, between, eq, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Db, Tx } from '../db/connection.ts';
import { hotSelect, renderOnce } from '../db/hotQueries.ts';
import { insertionOf, inOneStatement } from '../db/manyRows.ts';
import { feedHead, holderActs, retirementRecords, retirements, submissions } from '../db/tables/index.ts';
import { NetworkUnavailable, type RetirementRecord } from '../ledger/network/port.ts';

export interface FeedToken {
  projectId: string;
  tokenAddress: string;
}

/** A token's records from some index on, as the token has them, without gaps. */
interface FreshRecords {
  token: FeedToken;
  /** The last stored record, if any, and the records after it. */
  records: readonly RetirementRecord[];
  /** Known transactions, by index, of records that the platform has not made. */
  verified: ReadonlyMap<number, string>;
}

/** The fields that identify a record; not the date, which changes if the chain is rolled back. */
type StoredRecord = Omit<RetirementRecord, 'timestamp'>;

/**
 * Locks the feed's head until the transaction ends. The lock orders appends across all instances, so
 * positions follow commits, and after position n is visible, no smaller one can appear.
 *
 * A token whose last stored record has changed is skipped: its chain was rewritten, and the next records may
 * be stored already, in other places.
 * @returns how many records were appended, without those that were stored already; and how many of each token
 * were stored before, and are now
 */
export async function appendRecords(
  tx: Tx,
  all: readonly FreshRecords[],
  appendedAt: Date,
): Promise<{ appended: number; before: ReadonlyMap<string, number>; stored: ReadonlyMap<string, number> }> {
  const addresses = all.map(({ token }) => token.tokenAddress);
  const locking = lockHead(tx, {});
  // These reads are sent second, so that they run under the lock.
  const [[head], lasts, candidates] = await Promise.all([
    locking,
    readLastOf(tx, addresses),
    Promise.all(all.map(async (one) => ({ ...one, known: await readKnown(tx, one.token, one.records) }))),
  ]);
  if (!head) throw new Error('feed_head has no row: migrations are incomplete');
  const before = new Map(addresses.map((token) => [token, (lasts.get(token)?.index ?? -1) + 1]));
  const stored = new Map(before);
  const rows: (typeof retirementRecords.$inferInsert)[] = [];
  for (const { token, records, verified, known } of candidates) {
    const from = before.get(token.tokenAddress) ?? 0;
    const fresh = records.filter((record) => record.index >= from);
    // Records that begin after the next index would leave a gap.
    if (fresh[0]?.index !== from) continue;
    const last = lasts.get(token.tokenAddress);
    if (last && !records.some((record) => isSame(record, last))) continue;
    stored.set(token.tokenAddress, from + fresh.length);
    for (const record of fresh) {
      const { index, amount: amountBaseUnits } = record;
      const position = head.position + BigInt(rows.length) + 1n;
      const txHash = known.hashes.get(index) ?? verified.get(index) ?? null;
      const isClaimed = known.claimed.has(index);
      rows.push({ ...record, ...token, amountBaseUnits, position, txHash, isClaimed, appendedAt });
    }
  }
  if (rows.length === 0) return { appended: 0, before, stored };
  const position = String(head.position + BigInt(rows.length));
  await tx.execute(inOneStatement([insertionOf(retirementRecords, rows), moveHead({ position })]));
  return { appended: rows.length, before, stored };
}

const lockHead = hotSelect(new QueryBuilder().select().from(feedHead).for('update'));
const moveHead = renderOnce(sql`UPDATE ${feedHead} SET position = ${sql.placeholder('position')}`);

/** Refuses other records than those asked for: they would leave a gap, or repeat one request, for ever. */
export function requireInOrder(
  tokenAddress: string,
  records: readonly RetirementRecord[],
  fromIndex: number,
): void {
  const position = records.findIndex((record, i) => record.index !== fromIndex + i);
  if (position < 0) return;
  throw new NetworkUnavailable(
    `The records of ${tokenAddress} from ${fromIndex} on were asked for, but number ${position} of the ` +
      `answer has index ${records[position]?.index}. Nothing of it was stored.`,
  );
}

/** Records are stored in the token's order without gaps, so the highest index gives their number. */
export async function countStored(db: Pick<Db, 'execute'>, tokenAddress: string): Promise<number> {
  return (await countStoredOf(db, [tokenAddress])).get(tokenAddress) ?? 0;
}

/** The numbers of stored records of many tokens, read from the index alone. */
export async function countStoredOf(
  db: Pick<Db, 'execute'>,
  tokenAddresses: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db.execute<{ token: string; stored: number }>(sql`
    SELECT token, (SELECT coalesce(max(index) + 1, 0) FROM ${retirementRecords} WHERE token_address = token) AS stored
    FROM json_array_elements_text(${JSON.stringify(tokenAddresses)}::text::json) AS token`);
  return new Map(rows.map(({ token, stored }) => [token, stored]));
}

/** Searches one entry of the index for each token: a GROUP BY would read the tokens' whole histories. */
async function readLastOf(
  db: Pick<Db, 'execute'>,
  tokenAddresses: readonly string[],
): Promise<ReadonlyMap<string, StoredRecord>> {
  const rows = await db.execute<Omit<StoredRecord, 'amount'> & { token: string; amount: string }>(sql`
    SELECT token, last.* FROM json_array_elements_text(${JSON.stringify(tokenAddresses)}::text::json) AS token
    CROSS JOIN LATERAL (
      SELECT index, retired_by AS "retiredBy", amount_base_units::text AS amount, beneficiary, note
      FROM ${retirementRecords} WHERE token_address = token ORDER BY index DESC LIMIT 1) AS last`);
  return new Map(rows.map(({ token, ...last }) => [token, { ...last, amount: BigInt(last.amount) }]));
}

function isSame(one: StoredRecord, other: StoredRecord): boolean {
  return (
    one.index === other.index &&
    one.retiredBy === other.retiredBy &&
    one.amount === other.amount &&
    one.beneficiary === other.beneficiary &&
    one.note === other.note
  );
}

const indexes = { first: sql.placeholder('first'), last: sql.placeholder('last') };
const selectOwn = hotSelect(
  new QueryBuilder()
    .select({ index: retirements.recordIndex, txHash: retirements.txHash })
    .from(retirements)
    .where(
      and(
        eq(retirements.projectId, sql.placeholder('projectId')),
        between(retirements.recordIndex, indexes.first, indexes.last),
      ),
    )
    // Only the index of records has this order. Otherwise, while the table is small, another index that reads
    // all of a project's retirements looks as cheap, and connections keep such a plan.
    .orderBy(retirements.recordIndex),
);
const selectOfHolders = hotSelect(
  new QueryBuilder()
    .select({ index: holderActs.recordIndex, txHash: submissions.txHash })
    .from(holderActs)
    .innerJoin(submissions, eq(submissions.id, holderActs.submissionId))
    .where(
      and(
        eq(holderActs.projectId, sql.placeholder('projectId')),
        between(holderActs.recordIndex, indexes.first, indexes.last),
      ),
    ),
);

/**
 * Reads what a token's records do not say: their transactions, as far as this platform's retirements and its
 * holders' acts know them, and which records a retirement of this platform claims.
 */
async function readKnown(
  tx: Tx,
  token: FeedToken,
  records: readonly RetirementRecord[],
): Promise<{ hashes: ReadonlyMap<number, string>; claimed: ReadonlySet<number> }> {
  const { projectId } = token;
  const range = { projectId, first: records[0]?.index ?? 0, last: records.at(-1)?.index ?? 0 };
  const [own, byHolders] = await Promise.all([selectOwn(tx, range), selectOfHolders(tx, range)]);
  const hashes = new Map<number, string>();
  for (const { index, txHash } of [...own, ...byHolders]) {
    if (index !== null && txHash !== null) hashes.set(index, txHash);
  }
  return { hashes, claimed: new Set(own.flatMap(({ index }) => index ?? [])) };
}
