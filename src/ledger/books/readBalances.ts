/**
 * Reading the books: a project's position and a buyer's balances and statement.
 */
import { and, asc, desc, eq, gt, inArray, lt, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import type { KeysetPage } from '../../db/keyset.ts';
import { accounts, entries, projects, transfers } from '../../db/schema/index.ts';

/** Whole tonnes of one project by where they are. `issued` is what the mint brought in. */
export interface ProjectPosition {
  issued: bigint;
  inventory: bigint;
  heldByBuyers: bigint;
  retiring: bigint;
  retired: bigint;
}

const NOTHING: ProjectPosition = { issued: 0n, inventory: 0n, heldByBuyers: 0n, retiring: 0n, retired: 0n };

/** Positions of many projects in one statement; projects without accounts have an all-zero one. */
export async function readPositions(
  db: Db,
  projectIds: readonly string[],
): Promise<Map<string, ProjectPosition>> {
  const positions = new Map(projectIds.map((id) => [id, { ...NOTHING }]));
  if (projectIds.length === 0) return positions;
  const rows = await db
    .select({
      projectId: accounts.projectId,
      kind: accounts.kind,
      // A sum of bigints is numeric: text keeps its digits.
      balance: sql<string>`sum(${accounts.balance})::text`,
    })
    .from(accounts)
    .where(inArray(accounts.projectId, [...projectIds]))
    .groupBy(accounts.projectId, accounts.kind);
  for (const row of rows) {
    const position = positions.get(row.projectId) ?? { ...NOTHING };
    const balance = BigInt(row.balance);
    if (row.kind === 'issuance') position.issued = -balance;
    else if (row.kind === 'buyer') position.heldByBuyers = balance;
    else position[row.kind] = balance;
    positions.set(row.projectId, position);
  }
  return positions;
}

export interface BuyerBalance {
  projectId: string;
  tokenAddress: string;
  balanceTonnes: bigint;
}

/** A buyer's balances, one per project that they ever bought from, in the order of the tokens' addresses. */
export async function readBuyerBalances(
  db: Db,
  buyerId: string,
  page: KeysetPage<string>,
): Promise<BuyerBalance[]> {
  const rows = await db
    .select({
      projectId: accounts.projectId,
      tokenAddress: projects.tokenAddress,
      balanceTonnes: accounts.balance,
    })
    .from(accounts)
    .innerJoin(projects, eq(projects.id, accounts.projectId))
    .where(
      and(
        eq(accounts.kind, 'buyer'),
        eq(accounts.ownerId, buyerId),
        page.after === undefined ? undefined : gt(projects.tokenAddress, page.after),
        page.before === undefined ? undefined : lt(projects.tokenAddress, page.before),
      ),
    )
    .orderBy(page.inverted ? desc(projects.tokenAddress) : asc(projects.tokenAddress))
    .limit(page.limit);
  return rows.map((row) => ({ ...row, tokenAddress: row.tokenAddress ?? '' }));
}

export interface StatementEntry {
  version: bigint;
  kind: (typeof transfers.kind.enumValues)[number];
  referenceId: string;
  amountTonnes: bigint;
  balanceBeforeTonnes: bigint;
  balanceAfterTonnes: bigint;
  postedAt: Date;
}

/** A buyer's entries for one project, oldest first; the cursor is the entry's version. */
export async function readStatement(
  db: Db,
  buyerId: string,
  projectId: string,
  page: KeysetPage<bigint>,
): Promise<StatementEntry[]> {
  return db
    .select({
      version: entries.version,
      kind: transfers.kind,
      referenceId: transfers.referenceId,
      amountTonnes: entries.amount,
      balanceBeforeTonnes: entries.balanceBefore,
      balanceAfterTonnes: entries.balanceAfter,
      postedAt: transfers.createdAt,
    })
    .from(entries)
    .innerJoin(accounts, eq(accounts.id, entries.accountId))
    .innerJoin(transfers, eq(transfers.id, entries.transferId))
    .where(
      and(
        eq(accounts.projectId, projectId),
        eq(accounts.kind, 'buyer'),
        eq(accounts.ownerId, buyerId),
        page.after === undefined ? undefined : gt(entries.version, page.after),
        page.before === undefined ? undefined : lt(entries.version, page.before),
      ),
    )
    .orderBy(page.inverted ? desc(entries.version) : asc(entries.version))
    .limit(page.limit);
}
