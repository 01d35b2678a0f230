/**
 * Warehouse receipts: confirmed commodity deposits; each becomes one receipt token.
 */
import { sql } from 'drizzle-orm';
import { bigint, check, index, pgEnum, pgTable, text, unique, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { moment, unixSeconds } from './columns.ts';

/**
 *   DEPLOYING ──deploy landed──▶ MINTING ──mint final──▶ ACTIVE ──marked expired──▶ EXPIRED
 *       │  └──salt used, or fee above cap──┐  │
 *       ▼                                  ▼  ▼
 *    REFUSED                           NEEDS_REVIEW ──an operator resumes──▶ DEPLOYING | MINTING
 */
export const receiptState = pgEnum('receipt_state', [
  'DEPLOYING',
  'MINTING',
  'ACTIVE',
  'EXPIRED',
  'REFUSED',
  'NEEDS_REVIEW',
]);

/** Condition for receipts that count against a cap. */
export const IS_OUTSTANDING = sql.raw(`state NOT IN ('EXPIRED', 'REFUSED')`);

export const receipts = pgTable(
  'receipts',
  {
    id: uuid('id').primaryKey(),
    state: receiptState('state').notNull(),
    warehouseId: text('warehouse_id').notNull(),
    /** Milliseconds since 1970 at the deposit; increased for a second deposit in the same millisecond. */
    assetMillis: bigint('asset_millis', { mode: 'bigint' }).notNull(),
    /** `<warehouseId>-<assetMillis>`. */
    assetId: text('asset_id').notNull(),
    commodityType: text('commodity_type').notNull(),
    quantityKg: bigint('quantity_kg', { mode: 'bigint' }).notNull(),
    gradeClassification: text('grade_classification').notNull(),
    warehouseLocation: text('warehouse_location').notNull(),
    harvestSeason: text('harvest_season').notNull(),
    /** Zeros when there is no report. */
    inspectionReportHash: text('inspection_report_hash').notNull(),
    /** Whole US dollars. */
    valuationUsd: bigint('valuation_usd', { mode: 'bigint' }).notNull(),
    countryCode: text('country_code').notNull(),
    tokenName: text('token_name').notNull(),
    tokenSymbol: text('token_symbol').notNull(),
    /** The address that the receipt's units are minted to. */
    farmerAddress: text('farmer_address').notNull(),
    /** The subject of the farmer's bearer token; null when the warehouse did not name it. */
    farmerId: text('farmer_id'),
    /** The subject of the warehouse operator who confirmed the deposit. */
    confirmedBy: text('confirmed_by').notNull(),
    depositDate: unixSeconds('deposit_date').notNull(),
    expiryDate: unixSeconds('expiry_date').notNull(),
    /** Stored before the deploy is sent; the factory accepts it once. */
    deploySalt: text('deploy_salt').notNull(),
    tokenAddress: text('token_address'),
    /** Null when the receipt was marked expired outside this platform. */
    expiredTxHash: text('expired_tx_hash'),
    stateReason: text('state_reason'),
    createdAt: moment('created_at').notNull(),
    activatedAt: moment('activated_at'),
    expiredAt: moment('expired_at'),
  },
  (t) => [
    unique('receipts_asset').on(t.warehouseId, t.assetMillis),
    uniqueIndex('receipts_token').on(t.tokenAddress),
    // Read by the nightly job: its cost depends on the due receipts, not on the active ones.
    index('receipts_due')
      .on(t.expiryDate, t.id)
      .where(sql`state = 'ACTIVE'`),
    index('receipts_created').on(t.createdAt, t.id),
    index('receipts_farmer').on(t.farmerId, t.createdAt, t.id),
    index('receipts_farmer_address').on(t.farmerAddress, t.createdAt, t.id),
    index('receipts_warehouse').on(t.warehouseId, t.createdAt, t.id),
    index('receipts_state').on(t.state, t.createdAt, t.id),
    // The receipts that count against a cap are summed under the warehouse's lock. This index finds them, the
    // receipts of half a year, without those of all years.
    index('receipts_outstanding').on(t.warehouseId).where(IS_OUTSTANDING),
    check('receipts_quantity_positive', sql`quantity_kg > 0`),
    check('receipts_valuation_positive', sql`valuation_usd > 0`),
    check('receipts_country_code', sql`country_code ~ '^[A-Z]{2}$'`),
    // A pattern with a counted repetition of 64 costs thirty times as much at each change of a receipt.
    check(
      'receipts_inspection_report_hash',
      sql`length(inspection_report_hash) = 66 AND inspection_report_hash ~ '^0x[0-9a-f]*$'`,
    ),
    check('receipts_expires_later', sql`expiry_date > deposit_date`),
    check('receipts_asset_id', sql`asset_id = warehouse_id || '-' || asset_millis`),
    check(
      'receipts_live_has_token',
      sql`state NOT IN ('MINTING', 'ACTIVE', 'EXPIRED') OR token_address IS NOT NULL`,
    ),
    check('receipts_active_was_minted', sql`state NOT IN ('ACTIVE', 'EXPIRED') OR activated_at IS NOT NULL`),
    check('receipts_expired_at', sql`(state = 'EXPIRED') = (expired_at IS NOT NULL)`),
  ],
);
