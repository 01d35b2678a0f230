/**
 * Erases the payout accounts of cash-outs that ended long ago: their sealed text, and the part that is shown.
 */
import { inArray, sql } from 'drizzle-orm';
import type { Db } from '../../../db/connection.ts';
import { ENDED_OFF_RAMP_STATES, offRampSessions } from '../../../db/tables/index.ts';

/** Rows locked at a time, for some milliseconds; a callback for one of the sessions waits as long. */
const ROWS_PER_PAGE = 200;

/**
 * A session that an operator reopens meanwhile keeps its account. A killed run can be repeated, because each
 * page is committed.
 * @returns the number of erased accounts
 */
export async function erasePayoutAccounts(
  db: Db,
  { olderThanDays, rowsPerPage = ROWS_PER_PAGE }: { olderThanDays: number; rowsPerPage?: number },
): Promise<number> {
  let erased = 0;
  let after: string | null = null;
  for (;;) {
    const rows: { id: string }[] = await db.execute(sql`
      UPDATE ${offRampSessions}
      SET sealed_payout_account = NULL, masked_account_number = NULL, payout_account_erased_at = now()
      WHERE id = ANY (ARRAY(SELECT id FROM ${offRampSessions}
        WHERE ${inArray(offRampSessions.state, [...ENDED_OFF_RAMP_STATES])} AND payout_account_erased_at IS NULL
          AND ended_at < now() - make_interval(days => ${olderThanDays})
          AND (${after}::uuid IS NULL OR id > ${after}::uuid)
        ORDER BY id LIMIT ${rowsPerPage} FOR UPDATE))
      RETURNING id`);
    const ids = rows.map(({ id }) => id).sort();
    erased += ids.length;
    after = ids.at(-1) ?? null;
    if (after === null) return erased;
  }
}
