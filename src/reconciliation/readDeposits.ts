/**
 * What off-ramp sessions say a settlement contract holds of receipts' tokens.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { isOneOf } from '../db/manyRows.ts';
import { offRampSessions } from '../db/tables/index.ts';
import type { Address } from '../ledger/network/port.ts';

export interface Deposits {
  openKg: bigint;
  /** Amounts that unsettled calls may have deposited or released. */
  comingKg: bigint;
  leavingKg: bigint;
  isReviewed: boolean;
}

export const NO_DEPOSITS: Deposits = { openKg: 0n, comingKg: 0n, leavingKg: 0n, isReviewed: false };

/**
 * By receipt, of those that have sessions with the contract. A wallet may send what it signed at any moment, without the
 * platform, and also after the session was closed. What a holder gets back may be less than was agreed.
 * @param isStill no call is on its way to the network
 */
export async function readDeposits(
  { db, isStill = false }: { db: Pick<Db, 'execute'>; isStill?: boolean },
  receiptIds: readonly string[],
  settlementAddress: Address,
): Promise<ReadonlyMap<string, Deposits>> {
  const rows = await db.execute<{
    id: string;
    open: string;
    coming: string;
    leaving: string;
    reviewed: boolean;
  }>(sql`
    SELECT c.receipt_id AS id, coalesce(sum(c.token_amount_kg) FILTER (WHERE c.is_open), 0)::text AS open,
      coalesce(sum(c.token_amount_kg) FILTER (WHERE c.deposited_at IS NULL AND (c.by_holder OR (c.is_under_way AND NOT ${isStill}))), 0)::text AS coming,
      coalesce(sum(c.token_amount_kg) FILTER (WHERE c.is_open AND ((c.is_under_way AND NOT ${isStill}) OR c.is_given_back)), 0)::text AS leaving,
      coalesce(bool_or(c.state = 'NEEDS_REVIEW'), false) AS reviewed
    FROM (SELECT *, deposited_at IS NOT NULL AND released_at IS NULL AS is_open,
        depositor = 'HOLDER' AND provider_session_id IS NOT NULL AS by_holder,
        depositor = 'HOLDER' AND resolution = 'REFUND' AS is_given_back,
        EXISTS (SELECT 1 FROM submissions s WHERE s.target_id = off_ramp_sessions.id AND s.state IN ('PENDING', 'NEEDS_REVIEW')) AS is_under_way
      FROM off_ramp_sessions WHERE ${isOneOf(offRampSessions.receiptId, receiptIds)} AND settlement_address = ${settlementAddress}) AS c
    GROUP BY c.receipt_id`);
  return new Map(
    rows.map(({ id, open, coming, leaving, reviewed: isReviewed }) => [
      id,
      { openKg: BigInt(open), comingKg: BigInt(coming), leavingKg: BigInt(leaving), isReviewed },
    ]),
  );
}
