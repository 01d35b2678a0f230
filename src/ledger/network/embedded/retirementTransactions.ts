/**
 * Finds the transactions that made a token's retirement records, from the events that they published.
 */
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../../db/connection.ts';
import type { Address, TransactionHash, WantedTransaction } from '../port.ts';
import { events } from './tables.ts';

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
