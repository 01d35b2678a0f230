/**
 * The result of a dry run: the buyer's balance as the mutation would leave it.
 */
import { and, eq } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { accounts } from '../../db/tables/index.ts';
import type { Price } from './projectPrices.ts';

export interface DryRun {
  projectId: string;
  /** The buyer whose credits the mutation moves. */
  buyerId: string;
  tonnes: bigint;
  balanceAfterTonnes: bigint;
  /** Only for a purchase of a project that has a price. */
  pricePerTonne?: Price | null;
}

/** Reads the balance in the transaction that will be rolled back. */
export async function readDryRun(tx: Tx, of: Omit<DryRun, 'balanceAfterTonnes'>): Promise<DryRun> {
  const [account] = await tx
    .select({ balanceTonnes: accounts.balanceTonnes })
    .from(accounts)
    .where(
      and(eq(accounts.projectId, of.projectId), eq(accounts.kind, 'buyer'), eq(accounts.ownerId, of.buyerId)),
    );
  return { ...of, balanceAfterTonnes: account?.balanceTonnes ?? 0n };
}
