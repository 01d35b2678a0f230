/**
 * Reads the transfers of a buyer's credits, of all projects together, in the order of time.
 *
 * A page is merged from the pages of the buyer's accounts, each of which an index gives in order. The cost of
 * a page grows with the number of projects that the buyer ever bought from, and not with the number of
 * transfers.
 */
import { and, eq, inArray, sql, type SQL } from 'drizzle-orm';
import { isAmong, isWithin, matching, type FilterOf } from '../../db/conditions.ts';
import type { Db } from '../../db/connection.ts';
import { countUpTo, type KeysetPage } from '../../db/keyset.ts';
import { MAX_COUNTED } from '../../lib/pageSizes.ts';
import { accounts, BUYER_CREDITED, BUYER_DEBITED, projects, transfers } from '../../db/tables/index.ts';
import type { TransferKind } from './postings.ts';

export interface StatementEntry {
  /** The id of the transfer. */
  id: string;
  projectId: string;
  accountId: bigint;
  /** Number in the account's history, from 1 without gaps. */
  version: bigint;
  kind: TransferKind;
  causeId: string;
  /** Negative when the tonnes left the account. */
  amountTonnes: bigint;
  balanceBeforeTonnes: bigint;
  balanceAfterTonnes: bigint;
  pricePerTonne: string | null;
  priceCurrency: string | null;
  postedAt: Date;
  cursor: StatementCursor;
}

/** An entry's place among all of its buyer's. Entries of one moment are ordered by account and version. */
export interface StatementCursor {
  /** ISO 8601 with microseconds. */
  postedAt: string;
  accountId: string;
  version: string;
}

const FILTER = { kinds: isAmong(transfers.kind), ...isWithin(transfers.createdAt) };

export type TransferFilter = FilterOf<typeof FILTER>;

export interface StatementSelection extends TransferFilter {
  buyerId: string;
  /** Selects the projects; a condition on `projects`. */
  projects?: SQL | undefined;
  /** True for purchases only. */
  isOfPurchases?: boolean;
}

interface Row extends Record<string, unknown> {
  id: string;
  project_id: string;
  account_id: string;
  version: string;
  kind: TransferKind;
  cause_id: string;
  amount_tonnes: string;
  balance_tonnes: string;
  price_per_tonne: string | null;
  price_currency: string | null;
  posted_at: string;
}

/** @returns entries in the direction of `order`, or against it when the page is inverted */
export async function readStatement(
  db: Db,
  selection: StatementSelection,
  order: 'asc' | 'desc',
  page: KeysetPage<StatementCursor>,
): Promise<StatementEntry[]> {
  const isAscending = (order === 'asc') !== page.inverted;
  const direction = sql.raw(isAscending ? 'ASC' : 'DESC');
  const beyond = [
    page.after && isBeyond(page.after, order === 'asc'),
    page.before && isBeyond(page.before, order === 'desc'),
  ];
  const read = (side: Side) => sql`(SELECT ${transfers.id}, ${side.version} AS version, ${transfers.kind},
      ${transfers.causeId}, ${side.amountTonnes} AS amount_tonnes, ${side.balanceTonnes} AS balance_tonnes,
      ${transfers.pricePerTonne}, ${transfers.priceCurrency}, ${transfers.createdAt}
    FROM ${transfers} WHERE ${and(ofSide(side, selection), ...beyond.map((condition) => condition?.(side)))}
    ORDER BY ${transfers.createdAt} ${direction}, ${side.version} ${direction} LIMIT ${page.limit})`;
  const rows = await db.execute<Row>(sql`
    SELECT e.id, ${accounts.projectId}, ${accounts.id}::text AS account_id, e.version::text, e.kind, e.cause_id,
      e.amount_tonnes::text, e.balance_tonnes::text, e.price_per_tonne::text, e.price_currency,
      to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS posted_at
    FROM ${accounts} CROSS JOIN LATERAL (${bothSides(selection, read)}) AS e
    WHERE ${ofBuyer(db, selection)}
    ORDER BY e.created_at ${direction}, ${accounts.id} ${direction}, e.version ${direction} LIMIT ${page.limit}`);
  return rows.map(entryOf);
}

/** Counts up to MAX_COUNTED. */
export async function countStatement(db: Db, selection: StatementSelection): Promise<number> {
  const read = (side: Side) =>
    sql`(SELECT FROM ${transfers} WHERE ${ofSide(side, selection)} LIMIT ${MAX_COUNTED})`;
  return countUpTo(
    db,
    sql`SELECT FROM ${accounts} CROSS JOIN LATERAL (${bothSides(selection, read)}) AS e WHERE ${ofBuyer(db, selection)}`,
  );
}

/** A transfer from the side of one of its accounts. */
interface Side {
  account: SQL;
  version: SQL;
  amountTonnes: SQL;
  balanceTonnes: SQL;
  /** The same text as in the condition of this side's index. */
  isOfBuyer: SQL;
}

const DEBIT: Side = {
  account: sql`${transfers.debitAccountId}`,
  version: sql`${transfers.debitVersion}`,
  amountTonnes: sql`-${transfers.amountTonnes}`,
  balanceTonnes: sql`${transfers.debitBalanceTonnes}`,
  isOfBuyer: BUYER_DEBITED,
};
const CREDIT: Side = {
  account: sql`${transfers.creditAccountId}`,
  version: sql`${transfers.creditVersion}`,
  amountTonnes: sql`${transfers.amountTonnes}`,
  balanceTonnes: sql`${transfers.creditBalanceTonnes}`,
  isOfBuyer: BUYER_CREDITED,
};

function bothSides({ isOfPurchases }: StatementSelection, read: (side: Side) => SQL): SQL {
  return isOfPurchases === true ? read(CREDIT) : sql`${read(DEBIT)} UNION ALL ${read(CREDIT)}`;
}

function ofBuyer(db: Db, { buyerId, projects: meant }: StatementSelection): SQL | undefined {
  return and(
    eq(accounts.kind, 'buyer'),
    eq(accounts.ownerId, buyerId),
    meant && inArray(accounts.projectId, db.select({ id: projects.id }).from(projects).where(meant)),
  );
}

function ofSide(side: Side, selection: StatementSelection): SQL | undefined {
  return and(
    sql`${side.account} = ${accounts.id}`,
    side.isOfBuyer,
    selection.isOfPurchases === true ? eq(transfers.kind, 'purchase') : undefined,
    matching(FILTER, selection, null),
  );
}

/** Compares the moment alone first, because the index can seek it. */
function isBeyond({ postedAt, accountId, version }: StatementCursor, upwards: boolean): (side: Side) => SQL {
  const [from, beyond] = upwards ? [sql.raw('>='), sql.raw('>')] : [sql.raw('<='), sql.raw('<')];
  const moment = sql`${postedAt}::timestamptz`;
  return (
    side,
  ) => sql`(${transfers.createdAt} ${from} ${moment} AND (${transfers.createdAt}, ${side.account}, ${side.version})
    ${beyond} (${moment}, ${accountId}::bigint, ${version}::bigint))`;
}

function entryOf(row: Row): StatementEntry {
  const { account_id: accountId, version, posted_at: postedAt } = row;
  const [amount, balance] = [BigInt(row.amount_tonnes), BigInt(row.balance_tonnes)];
  return {
    id: row.id,
    projectId: row.project_id,
    accountId: BigInt(accountId),
    version: BigInt(version),
    kind: row.kind,
    causeId: row.cause_id,
    amountTonnes: amount,
    balanceBeforeTonnes: balance - amount,
    balanceAfterTonnes: balance,
    pricePerTonne: row.price_per_tonne,
    priceCurrency: row.price_currency,
    postedAt: new Date(postedAt),
    cursor: { postedAt, accountId, version },
  };
}
