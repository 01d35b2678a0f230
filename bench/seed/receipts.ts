/**
 * Seeds active receipts with their keys, their deploys and mints, and their tokens on the embedded network.
 */
import { randomBytes } from 'node:crypto';
import type postgres from 'postgres';
import { encodeStrkey } from '../../src/lib/strkey.ts';
import { RECEIPT_METADATA } from '../../src/reconciliation/contradictions/calls.ts';
import { seed } from './seeding.ts';

/** Number of addresses in one INSERT. */
const PAGE = 10_000;
const DAY_SECONDS = 86_400;

/** @param due how many have passed their expiry date */
export async function seedReceipts(sql: postgres.Sql, count: number, due: number): Promise<void> {
  const warehouse = `seeded-${randomBytes(6).toString('hex')}`;
  await seed(sql, async (tx) => {
    await tx`CREATE TEMPORARY TABLE seeded (n serial, address text NOT NULL) ON COMMIT DROP`;
    for (let made = 0; made < count; made += PAGE) {
      const addresses = Array.from({ length: Math.min(PAGE, count - made) }, () =>
        encodeStrkey('contract', randomBytes(32)),
      );
      await tx`INSERT INTO seeded (address) SELECT unnest(${addresses}::text[])`;
    }
    await tx`
      INSERT INTO receipts (id, state, warehouse_id, asset_millis, asset_id, commodity_type, quantity_kg, grade_classification,
        warehouse_location, harvest_season, inspection_report_hash, valuation_usd, country_code, token_name, token_symbol,
        farmer_address, confirmed_by, deposit_date, expiry_date, deploy_salt, token_address, created_at, activated_at)
      SELECT uuidv7(), 'ACTIVE', ${warehouse}, n, ${warehouse} || '-' || n, 'Maize', 1000, 'Grade 1', 'Eldoret', '2024',
        '0x' || repeat('0', 64), 400, 'KE', 'Receipt', 'WHR', i.custody_address, ${warehouse}, c.closed_at - ${180 * DAY_SECONDS},
        c.closed_at + CASE WHEN n <= ${due} THEN -${DAY_SECONDS}::int ELSE ${100 * DAY_SECONDS}::int END,
        '0x' || md5(address) || md5(n::text), address, now(), now()
      FROM seeded, installation i, embedded_network.ledger_clock c`;
    await tx`
      INSERT INTO embedded_network.tokens (address, template, admin, symbol, paused, status, expiry_date, total_supply,
        total_retired, total_retirements)
      SELECT token_address, 'commodity', farmer_address, token_symbol, false, 'ACTIVE', expiry_date,
        quantity_kg * 10::numeric ^ 18, 0, 0
      FROM receipts WHERE warehouse_id = ${warehouse}`;
    // Settled submissions whose outcomes were read from the network, so they need no attempts.
    await tx`
      INSERT INTO submissions (id, kind, target_type, target_id, call, state, due_at, result, adopted_outcome, created_at, settled_at)
      SELECT uuidv7(), done.call ->> 'kind', 'RECEIPT', r.id, done.call, 'SUCCEEDED', now(), done.result, 'seeded', now(), now()
      FROM receipts r CROSS JOIN LATERAL (VALUES
        (jsonb_build_object('kind', 'deployCommodityReceipt', 'salt', deploy_salt, 'name', token_name, 'symbol', token_symbol,
          'assetId', asset_id, 'countryCode', country_code, 'metadata', ${tx.unsafe(RECEIPT_METADATA)}), jsonb_build_object('contractAddress', token_address)),
        (jsonb_build_object('kind', 'mint', 'tokenAddress', token_address, 'to', farmer_address,
          'amount', jsonb_build_object('$integer', (quantity_kg * 10::numeric ^ 18)::numeric(38)::text)), '{}'::jsonb)) AS done (call, result)
      WHERE r.warehouse_id = ${warehouse}`;
    await tx`
      INSERT INTO idempotency_keys (caller_subject, operation, key, input_hash, target_id)
      SELECT ${warehouse}, 'createDeposit', asset_id, md5(asset_id) || md5(asset_id), id
      FROM receipts WHERE warehouse_id = ${warehouse}`;
  });
}
