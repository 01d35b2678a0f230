/**
 * The deployment of the settlement contract: one for the whole platform.
 */
import { sql } from 'drizzle-orm';
import { check, pgEnum, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';

/**
 *   DEPLOYING ──landed──▶ DEPLOYED, configured as RAMP_SETTLEMENT_ADDRESS
 *       └──refused──▶ REFUSED   └──can't be decided──▶ NEEDS_REVIEW
 */
export const settlementDeploymentState = pgEnum('settlement_deployment_state', [
  'DEPLOYING',
  'DEPLOYED',
  'REFUSED',
  'NEEDS_REVIEW',
]);

export const settlementDeployments = pgTable(
  'settlement_deployments',
  {
    id: uuid('id').primaryKey(),
    state: settlementDeploymentState('state').notNull(),
    treasuryAddress: text('treasury_address').notNull(),
    deploySalt: text('deploy_salt').notNull(),
    settlementAddress: text('settlement_address'),
    stateReason: text('state_reason'),
    requestedBy: text('requested_by').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  () => [
    uniqueIndex('settlement_deployments_once')
      .on(sql`(true)`)
      .where(sql`state <> 'REFUSED'`),
    check('settlement_deployments_address', sql`(state = 'DEPLOYED') = (settlement_address IS NOT NULL)`),
  ],
);
