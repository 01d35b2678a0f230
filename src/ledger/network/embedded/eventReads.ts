/**
 * What only the events of the contracts show: the deployments of an account, and the transactions that made a
 * token's retirement records.
 */
import { and, eq, gte, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../../db/connection.ts';
import type { Address, TransactionHash, WantedTransaction } from '../port.ts';
import { events, tokens } from './tables.ts';

export async function tokensDeployedSince(
  db: Db,
  { factory, deployer, ledger }: { factory: Address; deployer: Address; ledger: bigint | null },
): Promise<Address[]> {
  // (address, deployer, …)
  const deployed = db
    .select({ address: sql<string>`${events.data} -> 'value' ->> 0` })
    .from(events)
    .where(
      and(
        eq(events.contract, factory),
        eq(events.eventType, 'deployed'),
        ledger === null ? undefined : gte(events.ledger, ledger),
        eq(sql`${events.data} -> 'value' ->> 1`, deployer),
      ),
    );
  const found = await db
    .select({ address: tokens.address })
    .from(tokens)
    .where(inArray(tokens.address, deployed));
  return found.map(({ address }) => address);
}

export async function retirementTransactions(
  db: Db,
  token: Address,
  wanted: readonly WantedTransaction[],
): Promise<ReadonlyMap<number, TransactionHash>> {
  if (wanted.length === 0) return new Map();
  // (amount, beneficiary, index, timestamp)
  const index = sql<number>`(${events.data} -> 'value' ->> 2)::int`.mapWith(Number);
  const rows = await db
    .select({ index, txHash: events.txHash })
    .from(events)
    .where(
      and(
        eq(events.contract, token),
        eq(events.eventType, 'retired'),
        inArray(
          index,
          wanted.map((record) => record.index),
        ),
      ),
    );
  return new Map(rows.map((row) => [row.index, row.txHash]));
}
