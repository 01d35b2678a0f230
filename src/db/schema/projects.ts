/**
 * Verified projects, each of which becomes one carbon credit token.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  integer,
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
 *       │                           │
 *       └──── refused for good ─────┴──▶ REFUSED (deploy) / NEEDS_REVIEW (mint)
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
    /** Persisted before the deploy is sent; the factory accepts it once. */
    deploySalt: text('deploy_salt').notNull(),
    tokenAddress: text('token_address'),
    developerId: text('developer_id').notNull(),
    refusalMessage: text('refusal_message'),
    createdAt: moment('created_at').notNull(),
    openedAt: moment('opened_at'),
  },
  (t) => [
    // The same verified credits are never issued twice. A refused deploy issued nothing and frees the id.
    uniqueIndex('projects_asset_once')
      .on(t.assetKey)
      .where(sql`state <> 'REFUSED'`),
    unique('projects_token').on(t.tokenAddress),
    index('projects_created').on(t.createdAt, t.id),
    index('projects_country').on(t.countryCode, t.createdAt, t.id),
    index('projects_vintage').on(t.vintageYear, t.createdAt, t.id),
    check('projects_quantity_positive', sql`quantity_tonnes > 0`),
    check('projects_open_has_token', sql`state NOT IN ('OPEN', 'MINTING') OR token_address IS NOT NULL`),
  ],
);
