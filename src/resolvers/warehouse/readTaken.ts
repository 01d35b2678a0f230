/**
 * Kilograms that cash-outs have taken of receipts: one rule for pledges, for further cash-outs, and for
 * queries.
 */
import { and, count, eq, inArray, notInArray, or, sql, sum } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { OPEN_OFF_RAMP_STATES, offRampSessions } from '../../db/tables/index.ts';

/**
 * Sessions whose kilograms are paid out or promised. A payout that was not taken back counts, wherever its
 * tokens are.
 */
export const isTaken = or(
  notInArray(offRampSessions.state, ['CLOSED', 'REFUNDED']),
  eq(offRampSessions.providerStatus, 'settled'),
);

export interface Taken {
  takenKg: bigint;
  /** Sessions that may still give their kilograms back. */
  openSessionCount: number;
}

/** Kilograms taken, by receipt; receipts of which nothing is taken are not in the map. */
export async function readTaken(
  { db }: { db: Pick<Db, 'select'> },
  receiptIds: readonly string[],
): Promise<ReadonlyMap<string, Taken>> {
  const { receiptId, state, tokenAmountKg } = offRampSessions;
  const isOpen = inArray(state, OPEN_OFF_RAMP_STATES);
  const rows = await db
    .select({
      receiptId,
      takenKg: sum(tokenAmountKg),
      openSessionCount: sql`${count()} FILTER (WHERE ${isOpen})`.mapWith(Number),
    })
    .from(offRampSessions)
    .where(and(inArray(receiptId, [...receiptIds]), isTaken))
    .groupBy(receiptId);
  return new Map(
    rows.map(({ receiptId: id, takenKg, ...rest }) => [id, { takenKg: BigInt(takenKg ?? 0), ...rest }]),
  );
}

/**
 * A holder who was paid and refunded may cash out the same tokens again, so more may be taken than there was.
 */
export function remainingOf(quantityKg: bigint, takenKg: bigint): bigint {
  return takenKg < quantityKg ? quantityKg - takenKg : 0n;
}
