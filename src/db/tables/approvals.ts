/**
 * Requests for approval: operations that run only when a second person approves them.
 */
import { sql } from 'drizzle-orm';
import { check, index, jsonb, pgEnum, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { apiKeys } from './identity.ts';

/** The mutations that can need approval, by their names in the contract. */
export const approvalOperation = pgEnum('approval_operation', [
  'createProject',
  'createDeposit',
  'resolveSubmissionReview',
  'resolveOffRampSessionReview',
  'resumeSigning',
  'setManualSessionStatus',
]);

/** AWAITING ends once. Expiry is not a state: it follows from `expires_at`. */
export const approvalState = pgEnum('approval_state', ['AWAITING', 'APPROVED', 'REFUSED', 'WITHDRAWN']);

export const approvalRequests = pgTable(
  'approval_requests',
  {
    /** For a requested project or receipt: the id that it will have. */
    id: uuid('id').primaryKey(),
    operation: approvalOperation('operation').notNull(),
    /** The operation's whole input, encoded by exactJson. */
    input: jsonb('input').notNull(),
    /** The project, receipt, submission or off-ramp session concerned; null for the halt of signing. */
    targetId: uuid('target_id'),
    /** The state of the target at the request, such as the review in question: no later state is approved. */
    basis: text('basis').notNull(),
    state: approvalState('state').notNull().default('AWAITING'),
    requestedBy: text('requested_by').notNull(),
    requestedWithKey: uuid('requested_with_key').references(() => apiKeys.id),
    requestedAt: moment('requested_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    decidedBy: text('decided_by'),
    decidedWithKey: uuid('decided_with_key').references(() => apiKeys.id),
    decidedAt: moment('decided_at'),
    /** The reason of the person who refused or withdrew the request. */
    refusalReason: text('refusal_reason'),
  },
  (t) => [
    index('approval_requests_requested').on(t.requestedAt, t.id),
    index('approval_requests_awaiting')
      .on(t.operation, t.targetId)
      .where(sql`state = 'AWAITING'`),
    check('approval_requests_expiry', sql`expires_at > requested_at`),
    check(
      'approval_requests_decided',
      sql`(state = 'AWAITING') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL)`,
    ),
    check(
      'approval_requests_second_person',
      sql`state NOT IN ('APPROVED', 'REFUSED') OR decided_by <> requested_by`,
    ),
    check('approval_requests_withdrawn', sql`state <> 'WITHDRAWN' OR decided_by = requested_by`),
    check(
      'approval_requests_refusal_reason',
      sql`(state IN ('REFUSED', 'WITHDRAWN')) = (refusal_reason IS NOT NULL)`,
    ),
    check('approval_requests_in_time', sql`state <> 'APPROVED' OR decided_at < expires_at`),
  ],
);
