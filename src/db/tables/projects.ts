/**
 * Verified projects; each becomes one carbon credit token.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  integer,
  numeric,
  pgEnum,
  pgTable,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';

/**
 *   DEPLOYING ──deploy landed──▶ MINTING ──mint final──▶ OPEN
 *       │  └──salt used, or fee above cap──┐  │
 *       ▼                                  ▼  ▼
 *    REFUSED                           NEEDS_REVIEW ──an operator resumes──▶ DEPLOYING | MINTING
 */
export const projectState = pgEnum('project_state', [
  'DEPLOYING',
  'MINTING',
  'OPEN',
  'REFUSED',
  'NEEDS_REVIEW',
]);

export const projects = pgTable(
  'projects',
  {
    id: uuid('id').primaryKey(),
    state: projectState('state').notNull(),
    /** `<verificationBodyRef>-<vintageYear>` as submitted. */
    assetId: text('asset_id').notNull(),
    /** The asset id folded for comparison: two spellings of one reference are the same credits. */
    assetKey: text('asset_key').notNull(),
    creditType: text('credit_type').notNull(),
    verificationBodyRef: text('verification_body_ref').notNull(),
    vintageYear: integer('vintage_year').notNull(),
    quantityTonnes: bigint('quantity_tonnes', { mode: 'bigint' }).notNull(),
    projectLocation: text('project_location').notNull(),
    projectType: text('project_type').notNull(),
    countryCode: text('country_code').notNull(),
    tokenName: text('token_name').notNull(),
    tokenSymbol: text('token_symbol').notNull(),
    /** Stored before the deploy is sent; the factory accepts it once. */
    deploySalt: text('deploy_salt').notNull(),
    tokenAddress: text('token_address'),
    developerId: text('developer_id').notNull(),
    stateReason: text('state_reason'),
    createdAt: moment('created_at').notNull(),
    openedAt: moment('opened_at'),
  },
  (t) => [
    // The same verified credits are issued once. A refused deploy issued nothing and frees the id.
    uniqueIndex('projects_asset_once')
      .on(t.assetKey)
      .where(sql`state <> 'REFUSED'`),
    unique('projects_token').on(t.tokenAddress),
    index('projects_created').on(t.createdAt, t.id),
    index('projects_country').on(t.countryCode, t.createdAt, t.id),
    index('projects_vintage').on(t.vintageYear, t.createdAt, t.id),
    // The orders of the list by vintage and by quantity.
    index('projects_by_vintage').on(t.vintageYear, t.id),
    index('projects_by_quantity').on(t.quantityTonnes, t.id),
    check('projects_quantity_positive', sql`quantity_tonnes > 0`),
    check('projects_country_code', sql`country_code ~ '^[A-Z]{2}$'`),
    check('projects_open_has_token', sql`state NOT IN ('OPEN', 'MINTING') OR token_address IS NOT NULL`),
    check('projects_opened_at', sql`state <> 'OPEN' OR opened_at IS NOT NULL`),
    // A project with a token may be minted, so its asset id is not free.
    check('projects_refused_has_no_token', sql`state <> 'REFUSED' OR token_address IS NULL`),
  ],
);

/**
 * The prices that a developer asked for a tonne, oldest first; the last one is in force. Append-only: a
 * purchase keeps its price. The price that a project is created with has the project's id.
 */
export const projectPrices = pgTable(
  'project_prices',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    /** Number in the project's history, from 1 without gaps. */
    number: integer('number').notNull(),
    pricePerTonne: numeric('price_per_tonne').notNull(),
    priceCurrency: text('price_currency').notNull(),
    /** The caller's subject. */
    setBy: text('set_by').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [
    unique('project_prices_number').on(t.projectId, t.number),
    check(
      'project_prices_form',
      sql`price_per_tonne > 0 AND price_per_tonne < 10::numeric ^ 16 AND scale(price_per_tonne) <= 8 AND price_currency ~ '^[A-Z]{3}$'`,
    ),
  ],
);
