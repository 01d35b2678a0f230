/**
 * Reads the books: the balances of projects and of buyers.
 */
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { countRows, keysetOf, type KeysetPage } from '../../db/keyset.ts';
import { accounts, projects } from '../../db/tables/index.ts';

/** Whole tonnes of one project by account kind. `issued` is what the mint brought in. */
export interface ProjectBalances {
  issued: bigint;
  inventory: bigint;
  heldByBuyers: bigint;
  retiring: bigint;
  retired: bigint;
}

const NOTHING: ProjectBalances = { issued: 0n, inventory: 0n, heldByBuyers: 0n, retiring: 0n, retired: 0n };

/** Balances of many projects in one statement; all zero for a project without accounts. */
export async function readProjectBalances(
  db: Pick<Db, 'select'>,
  projectIds: readonly string[],
): Promise<Map<string, ProjectBalances>> {
  const found = new Map(projectIds.map((id) => [id, { ...NOTHING }]));
  if (projectIds.length === 0) return found;
  const rows = await db
    .select({
      projectId: accounts.projectId,
      kind: accounts.kind,
      // The sum of bigints is numeric; as text it keeps its digits.
      balance: sql<string>`sum(${accounts.balance})::text`,
    })
    .from(accounts)
    .where(inArray(accounts.projectId, [...projectIds]))
    .groupBy(accounts.projectId, accounts.kind);
  for (const row of rows) {
    const balances = found.get(row.projectId) ?? { ...NOTHING };
    const balance = BigInt(row.balance);
    if (row.kind === 'issuance') balances.issued = -balance;
    else if (row.kind === 'buyer') balances.heldByBuyers = balance;
    else balances[row.kind] = balance;
    found.set(row.projectId, balances);
  }
  return found;
}

export interface BuyerBalance {
  projectId: string;
  tokenAddress: string;
  balanceTonnes: bigint;
}

/** A buyer's balances, one for each project whose credits the buyer ever had, ordered by token address. */
export async function readBuyerBalances(
  db: Db,
  buyerId: string,
  page: KeysetPage<string>,
): Promise<BuyerBalance[]> {
  const keys = keysetOf(projects.tokenAddress, page);
  const rows = await db
    .select({
      projectId: accounts.projectId,
      tokenAddress: projects.tokenAddress,
      balanceTonnes: accounts.balance,
    })
    .from(accounts)
    .innerJoin(projects, eq(projects.id, accounts.projectId))
    .where(and(eq(accounts.kind, 'buyer'), eq(accounts.ownerId, buyerId), keys.where))
    .orderBy(keys.orderBy)
    .limit(page.limit);
  return rows.map((row) => ({ ...row, tokenAddress: row.tokenAddress ?? '' }));
}

/** MAX_COUNTED at most. */
export function countBuyerBalances(db: Db, buyerId: string): Promise<number> {
  return countRows(db, accounts, and(eq(accounts.kind, 'buyer'), eq(accounts.ownerId, buyerId)));
}
