/**
 * Inserts active receipts as rows only, without tokens on a network.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../../../src/db/connection.ts';
import { ZERO_HASH } from '../../../src/ledger/units.ts';

/** All expire in one second, long ago. Their tokens are "same second 1" to "same second <count>". */
export async function insertDueReceipts(db: Pick<Db, 'execute'>, count: number): Promise<void> {
  await db.execute(sql`INSERT INTO receipts (id, state, warehouse_id, asset_millis, asset_id, commodity_type, quantity_kg,
      grade_classification, warehouse_location, harvest_season, inspection_report_hash, valuation_usd, country_code, token_name,
      token_symbol, farmer_address, confirmed_by, deposit_date, expiry_date, deploy_salt, token_address, created_at, activated_at)
    SELECT gen_random_uuid(), 'ACTIVE', 'WH', n, 'WH-' || n, 'Maize', 1, '', '', '', ${ZERO_HASH}, 1, 'KE', '', '', 'farmer', 'warehouse', 0, 1,
      'salt ' || n, 'same second ' || n, now(), now() FROM generate_series(1, ${count}::int) n`);
}
