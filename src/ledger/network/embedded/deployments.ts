/**
 * Finds an account's deployments from the factory's events.
 */
import { and, eq, gte, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../../db/connection.ts';
import type { Address } from '../port.ts';
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
