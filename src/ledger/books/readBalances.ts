/**
 * Reads the books: the balances of projects and of buyers.
 */
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { countRows, keysetOf, type KeysetPage } from '../../db/keyset.ts';
import { accounts, projects } from '../../db/tables/index.ts';

/** Whole tonnes of one project by account kind. `issued` is the amount that was minted. */
export interface ProjectBalances {
  issued: bigint;
  inventory: bigint;
  heldByBuyers: bigint;
  retiring: bigint;
  retired: bigint;
}

/** The kinds that have one account per project. */
const isOwn = sql`${accounts.kind} IN ('issuance', 'inventory', 'retiring', 'retired')`;

const NOTHING: ProjectBalances = { issued: 0n, inventory: 0n, heldByBuyers: 0n, retiring: 0n, retired: 0n };

/**
 * Balances of many projects in one statement; all zero for a project without accounts. `heldByBuyers` is
 * computed as the rest of `issued`, because a project may have a million buyers' accounts, and transfers only
 * move credits within it.
 */
export async function readProjectBalances(
  { db }: { db: Pick<Db, 'select'> },
  projectIds: readonly string[],
): Promise<Map<string, ProjectBalances>> {
  const found = new Map(projectIds.map((id) => [id, { ...NOTHING }]));
  if (projectIds.length === 0) return found;
  const { projectId, kind, balanceTonnes } = accounts;
  const rows = await db
    .select({ projectId, kind, balanceTonnes })
    .from(accounts)
    .where(and(inArray(projectId, [...projectIds]), isOwn));
  for (const row of rows) {
    const balances = found.get(row.projectId);
    if (balances === undefined || row.kind === 'buyer') continue;
    if (row.kind === 'issuance') balances.issued = -row.balanceTonnes;
    else balances[row.kind] = row.balanceTonnes;
  }
  for (const balances of found.values()) {
    const { issued, inventory, retiring, retired } = balances;
    balances.heldByBuyers = issued - inventory - retiring - retired;
  }
  return found;
}

/** A constant: a cached plan can't match a parameter to the `WHERE` of the index of owners. */
const isBuyers = sql`${accounts.kind} = 'buyer'`;

/** The sum of the balances of all buyers' accounts of a project. */
export async function sumBuyerBalances(db: Pick<Db, 'select'>, projectId: string): Promise<bigint> {
  const [row] = await db
    // The sum of bigints is numeric; as text it keeps its digits.
    .select({ tonnes: sql<string>`coalesce(sum(${accounts.balanceTonnes}), 0)::text` })
    .from(accounts)
    .where(and(eq(accounts.projectId, projectId), isBuyers));
  return BigInt(row?.tonnes ?? 0);
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
      balanceTonnes: accounts.balanceTonnes,
    })
    .from(accounts)
    .innerJoin(projects, eq(projects.id, accounts.projectId))
    .where(and(isBuyers, eq(accounts.ownerId, buyerId), keys.where))
    .orderBy(keys.orderBy)
    .limit(page.limit);
  return rows.map((row) => ({ ...row, tokenAddress: row.tokenAddress ?? '' }));
}

/** Counts up to MAX_COUNTED. */
export function countBuyerBalances(db: Db, buyerId: string): Promise<number> {
  return countRows(db, accounts, and(isBuyers, eq(accounts.ownerId, buyerId)));
}
