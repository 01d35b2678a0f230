/**
 * Off-ramp sessions: receipt tokens held by the settlement contract while a ramp provider pays out fiat.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  foreignKey,
  index,
  integer,
  numeric,
  pgEnum,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { approvalRequests } from './approvals.ts';
import { moment } from './columns.ts';
import { receipts } from './receipts.ts';

/** Payout statuses in the providers' spelling. */
export const rampStatus = pgEnum('ramp_status', ['pending', 'processing', 'settled', 'failed', 'refunded']);
/** Who gives the tokens to the settlement contract: custody's key, or a holder with a wallet of their own. */
export const offRampDepositor = pgEnum('off_ramp_depositor', ['CUSTODY', 'HOLDER']);
export const payoutAccountType = pgEnum('payout_account_type', ['MOBILE_MONEY', 'BANK']);

/** States that end automatically or by a decision. Only a holder's cash-outs have AWAITING_SIGNATURE. */
export const OPEN_OFF_RAMP_STATES = [
  'OPENING',
  'AWAITING_SIGNATURE',
  'DEPOSITING',
  'AWAITING_PAYOUT',
  'CONFIRMING',
  'REFUNDING',
  'CLOSING',
  'NEEDS_REVIEW',
] as const;
export const ENDED_OFF_RAMP_STATES = ['SETTLED', 'REFUNDED', 'CLOSED'] as const;
/** Transitions of all states: resolvers/warehouse/offRamp/transitions.ts, printed as diagrams in docs/. */
export const offRampState = pgEnum('off_ramp_state', [...OPEN_OFF_RAMP_STATES, ...ENDED_OFF_RAMP_STATES]);
/** The destination of the deposited tokens: the treasury, or the depositor. Decided once. */
export const offRampResolution = pgEnum('off_ramp_resolution', ['SETTLE', 'REFUND']);

export const offRampSessions = pgTable(
  'off_ramp_sessions',
  {
    /** Also the reference at the provider, stored before the provider is called. */
    id: uuid('id').primaryKey(),
    state: offRampState('state').notNull(),
    receiptId: uuid('receipt_id')
      .notNull()
      .references(() => receipts.id),
    tokenAddress: text('token_address').notNull(),
    tokenAmountKg: bigint('token_amount_kg', { mode: 'bigint' }).notNull(),
    /** The subject who asked: the farmer, or an operator on the farmer's behalf. */
    requestedBy: text('requested_by').notNull(),
    farmerId: text('farmer_id'),
    depositor: offRampDepositor('depositor').notNull(),
    depositorAddress: text('depositor_address').notNull(),
    settlementAddress: text('settlement_address').notNull(),
    /** Deadline of the holder's signature; null when custody deposits. */
    signatureDueAt: moment('signature_due_at'),

    countryCode: text('country_code').notNull(),
    payoutAccountType: payoutAccountType('payout_account_type').notNull(),
    /** This and the next column are null after an operator erased the account of an ended session. */
    sealedPayoutAccount: text('sealed_payout_account'),
    /** The part of the account number that may be shown. */
    maskedAccountNumber: text('masked_account_number'),
    payoutAccountErasedAt: moment('payout_account_erased_at'),

    /** This session's frozen quote: exact decimals. */
    fiatCurrency: text('fiat_currency').notNull(),
    fiatAmount: numeric('fiat_amount').notNull(),
    fiatFee: numeric('fiat_fee').notNull(),
    /** Null when the provider has no such rate. */
    feeBps: integer('fee_bps'),
    /** Tokens (kilograms) for a unit of the currency. */
    exchangeRate: numeric('exchange_rate').notNull(),
    quoteExpiresAt: moment('quote_expires_at').notNull(),

    providerName: text('provider_name').notNull(),
    /** Set before the provider is called: from then on it may have the session, even without an answer. */
    providerAskedAt: moment('provider_asked_at'),
    providerSessionId: text('provider_session_id'),
    providerStatus: rampStatus('provider_status'),

    depositTxHash: text('deposit_tx_hash'),
    /** The settlement contract holds the tokens from `depositedAt` to `releasedAt`. */
    depositedAt: moment('deposited_at'),
    releasedAt: moment('released_at'),
    resolution: offRampResolution('resolution'),
    resolutionTxHash: text('resolution_tx_hash'),
    refusalCode: text('refusal_code'),
    stateReason: text('state_reason'),
    /** From this time the provider is asked not to pay; its answer decides. */
    cancelRequestedAt: moment('cancel_requested_at'),
    cancelRequestedBy: text('cancel_requested_by'),

    /**
     * New with each move of the session, each reason for a review, and each status of the provider: a
     * decision holds for the value that the operator saw. Random, so that a restored copy of the database
     * does not give the same value to something else.
     */
    reviewVersion: uuid('review_version').notNull().defaultRandom(),

    /** When to check the session next; null when only a callback or a settled submission can change it. */
    dueAt: moment('due_at'),
    fruitlessSteps: integer('fruitless_steps').notNull().default(0),
    /** Counts callbacks, so that one that arrives during a check leads to another check. */
    hints: integer('hints').notNull().default(0),
    createdAt: moment('created_at').notNull(),
    endedAt: moment('ended_at'),
  },
  (t) => [
    unique('off_ramp_provider_session').on(t.providerName, t.providerSessionId),
    // The settlement contract takes a session's id once, and two providers may use the same id.
    uniqueIndex('off_ramp_deposit')
      .on(t.settlementAddress, t.providerSessionId)
      .where(sql`deposited_at IS NOT NULL`),
    index('off_ramp_due')
      .on(t.dueAt)
      .where(sql`due_at IS NOT NULL`),
    index('off_ramp_created').on(t.createdAt, t.id),
    index('off_ramp_farmer').on(t.farmerId, t.createdAt, t.id),
    index('off_ramp_receipt').on(t.receiptId, t.createdAt, t.id),
    index('off_ramp_state').on(t.state, t.createdAt, t.id),
    check('off_ramp_amount_positive', sql`token_amount_kg > 0`),
    check('off_ramp_country_code', sql`country_code ~ '^[A-Z]{2}$'`),
    check(
      'off_ramp_fiat',
      sql`fiat_amount > 0 AND fiat_fee >= 0 AND exchange_rate > 0 AND fee_bps BETWEEN 0 AND 10000 AND fiat_currency ~ '^[A-Z]{3}$'`,
    ),
    check(
      'off_ramp_known_at_provider',
      sql`provider_session_id IS NOT NULL OR state IN ('OPENING', 'CLOSED', 'NEEDS_REVIEW')`,
    ),
    check('off_ramp_asked_first', sql`provider_session_id IS NULL OR provider_asked_at IS NOT NULL`),
    check(
      'off_ramp_resolved_by_decision',
      sql`(state <> 'CONFIRMING' OR coalesce(resolution = 'SETTLE', false))
        AND (state <> 'REFUNDING' OR coalesce(resolution = 'REFUND', false))`,
    ),
    check('off_ramp_custody', sql`released_at IS NULL OR deposited_at IS NOT NULL`),
    // Compared as text: a value that a migration adds to the type can't be used in the same migration.
    check(
      'off_ramp_state_of_custody',
      sql`CASE
        WHEN state::text IN ('OPENING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'CLOSING', 'CLOSED') THEN deposited_at IS NULL
        WHEN state::text IN ('AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING') THEN deposited_at IS NOT NULL AND released_at IS NULL
        WHEN state::text IN ('SETTLED', 'REFUNDED') THEN released_at IS NOT NULL
        ELSE true END`,
    ),
    check('off_ramp_holder_has_time', sql`(depositor = 'HOLDER') = (signature_due_at IS NOT NULL)`),
    check('off_ramp_signature_of_a_holder', sql`state::text <> 'AWAITING_SIGNATURE' OR depositor = 'HOLDER'`),
    check(
      'off_ramp_erased_account',
      sql`(sealed_payout_account IS NULL) = (payout_account_erased_at IS NOT NULL)
        AND (masked_account_number IS NULL) = (payout_account_erased_at IS NOT NULL)`,
    ),
    check('off_ramp_cancelled_by', sql`(cancel_requested_at IS NULL) = (cancel_requested_by IS NULL)`),
    check('off_ramp_closed_says_why', sql`state <> 'CLOSED' OR state_reason IS NOT NULL`),
    check('off_ramp_ended_at', sql`state NOT IN ('SETTLED', 'REFUNDED', 'CLOSED') OR ended_at IS NOT NULL`),
  ],
);

/** Every status seen at the provider, in order. Append-only. */
export const offRampProviderStatuses = pgTable(
  'off_ramp_provider_statuses',
  {
    offRampSessionId: uuid('off_ramp_session_id').notNull(),
    number: integer('number').notNull(),
    status: rampStatus('status').notNull(),
    observedAt: moment('observed_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.offRampSessionId, t.number] }),
    // Named, because drizzle's own name is longer than PostgreSQL's 63 bytes.
    foreignKey({
      name: 'off_ramp_provider_statuses_session_fk',
      columns: [t.offRampSessionId],
      foreignColumns: [offRampSessions.id],
    }),
    check('off_ramp_provider_statuses_number_positive', sql`number > 0`),
  ],
);

export const offRampDecision = pgEnum('off_ramp_decision', ['RETRY', 'CONFIRM', 'REFUND', 'ACCEPT']);

/** A status of a deposit in the settlement contract, or that there is no deposit. */
export const offRampDepositSeen = pgEnum('off_ramp_deposit_seen', [
  'PENDING',
  'SETTLED',
  'REFUNDED',
  'RECORDED',
  'NONE',
]);

/** Reviews of sessions that no rule could decide, with the operator's decision. */
export const offRampReviews = pgTable(
  'off_ramp_reviews',
  {
    id: uuid('id').primaryKey(),
    offRampSessionId: uuid('off_ramp_session_id')
      .notNull()
      .references(() => offRampSessions.id),
    flaggedBecause: text('flagged_because').notNull(),
    /** The session's state when it was flagged. */
    stateBefore: offRampState('state_before').notNull(),
    openedAt: moment('opened_at').notNull(),
    /** Null while the review is open, or when the network's outcome or another reason closed it. */
    decision: offRampDecision('decision'),
    decidedBy: text('decided_by'),
    /** The operator's reason. */
    reason: text('reason'),
    /** The approval that the decision needed, which names who approved; then `decidedBy` is its requester. */
    approvalRequestId: uuid('approval_request_id').references(() => approvalRequests.id),
    closedAt: moment('closed_at'),
    /** What the settlement contract showed of the session's deposit at the decision. */
    depositSeen: offRampDepositSeen('deposit_seen'),
    /** Number of provider statuses that were known at the decision, which covers these and no later one. */
    statusesSeen: integer('statuses_seen'),
  },
  (t) => [
    uniqueIndex('off_ramp_reviews_one_open')
      .on(t.offRampSessionId)
      .where(sql`closed_at IS NULL`),
    index('off_ramp_reviews_session').on(t.offRampSessionId, t.openedAt),
    check(
      'off_ramp_reviews_decided_by',
      sql`(decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL) = (reason IS NULL)
        AND (decision IS NULL OR closed_at IS NOT NULL)`,
    ),
    check('off_ramp_reviews_deposit_seen', sql`(decision IS NULL) = (deposit_seen IS NULL)`),
    check('off_ramp_reviews_approved', sql`approval_request_id IS NULL OR decision IS NOT NULL`),
    check('off_ramp_reviews_statuses_seen', sql`(closed_at IS NULL) = (statuses_seen IS NULL)`),
  ],
);

/** The manual provider's own sessions: an operator sets their status. Append-only. */
export const manualRampSessions = pgTable(
  'manual_ramp_sessions',
  {
    /** Random: one id reveals nothing about another. */
    id: text('id').primaryKey(),
    /** The platform's reference: the same reference gets the same session. */
    reference: text('reference').notNull(),
    fiatCurrency: text('fiat_currency').notNull(),
    fiatAmount: numeric('fiat_amount').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [
    unique('manual_ramp_sessions_reference').on(t.reference),
    check('manual_ramp_sessions_fiat', sql`fiat_amount > 0 AND fiat_currency ~ '^[A-Z]{3}$'`),
  ],
);

/**
 * The statuses of each manual session, in order, with the operator who set them: `settled` sends the tokens
 * to the treasury. A session without one is pending. Append-only.
 */
export const manualRampStatuses = pgTable(
  'manual_ramp_statuses',
  {
    sessionId: text('session_id')
      .notNull()
      .references(() => manualRampSessions.id),
    number: integer('number').notNull(),
    status: rampStatus('status').notNull(),
    /** The operator; null where the platform closed the session. */
    setBy: text('set_by'),
    /** The payment's reference at the bank or the mobile money service, as the operator gave it. */
    paymentReference: text('payment_reference'),
    /** The approval that the status needed, which names who approved; then `setBy` is its requester. */
    approvalRequestId: uuid('approval_request_id'),
    setAt: moment('set_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.sessionId, t.number] }),
    // Named, because drizzle's own name is longer than PostgreSQL's 63 bytes.
    foreignKey({
      name: 'manual_ramp_statuses_approval_request_fk',
      columns: [t.approvalRequestId],
      foreignColumns: [approvalRequests.id],
    }),
    check('manual_ramp_statuses_number_positive', sql`number > 0`),
    check('manual_ramp_statuses_set_by', sql`set_by IS NOT NULL OR status = 'failed'`),
    check('manual_ramp_statuses_reference', sql`octet_length(payment_reference) BETWEEN 1 AND 128`),
  ],
);
