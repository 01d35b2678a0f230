/**
 * Cash-outs: receipt tokens given into custody of the settlement contract while a ramp provider pays out fiat.
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
import { receipts } from './receipts.ts';

/** As providers spell them. */
export const rampStatus = pgEnum('ramp_status', ['pending', 'processing', 'settled', 'failed', 'refunded']);
export const payoutAccountType = pgEnum('payout_account_type', ['MOBILE_MONEY', 'BANK']);

/**
 * By custody:
 *
 *   OPENING ──session open at the provider──▶ DEPOSITING ──deposit final──▶ AWAITING_PAYOUT
 *      │                                       │      ▲                       │        │
 *      │ provider refused,            deposit  │      │ paid after all:  settled       failed
 *      │ or nothing was asked         refused  │      │ deposit again         │        │
 *      ▼                                       ▼      │                       ▼        ▼
 *   REFUSED ◀──────────session closed──────── CLOSING ┘                 CONFIRMING  REFUNDING
 *                                                                             │        │
 *                                                                             ▼        ▼
 *                                                                          SETTLED  REFUNDED
 *
 * Where deposits need approvals, those of one receipt take turns while they are DEPOSITING (custodyDeposits.ts). One that
 * lands after its session is REFUSED is given back: REFUNDING.
 *
 * By a holder with a wallet of their own, who may also send the deposit by themselves, and late:
 *
 *   OPENING ──open──▶ AWAITING_SIGNATURE ──signed, given back──▶ DEPOSITING ──deposit final──▶ AWAITING_PAYOUT
 *                        │   │      ▲                              │    │                          ▲   (as above)
 *                        │   │      └─refused, or can't land──────┘    │ may land for ever, but    │
 *                        │   └──────────────sent by the wallet itself───┼──────────────────────────┤
 *                        │ not signed in time,                          │ its time is over          │
 *                        │ or failed by the provider                    ▼                           │
 *                        └──────────────────────────────────────────▶ CLOSING ──there all the same──┘
 *                                                                       │ session closed
 *                      REFUNDING ◀──deposited all the same, later──── REFUSED
 *
 *   any ──no rule decides──▶ NEEDS_REVIEW ──an operator decides──▶ on, or to the end that the network shows
 */
export const cashOutState = pgEnum('cash_out_state', [
  'OPENING',
  'AWAITING_SIGNATURE',
  'DEPOSITING',
  'AWAITING_PAYOUT',
  'CONFIRMING',
  'REFUNDING',
  'CLOSING',
  'SETTLED',
  'REFUNDED',
  'REFUSED',
  'NEEDS_REVIEW',
]);
/** What becomes of the tokens in custody: to the treasury, or back to the depositor. Decided once. */
export const cashOutResolution = pgEnum('cash_out_resolution', ['SETTLE', 'REFUND']);

export const cashOutSessions = pgTable(
  'cash_out_sessions',
  {
    /** Also the reference that the provider knows the session by, stored before the provider is called. */
    id: uuid('id').primaryKey(),
    state: cashOutState('state').notNull(),
    receiptId: uuid('receipt_id')
      .notNull()
      .references(() => receipts.id),
    tokenAddress: text('token_address').notNull(),
    tokenAmountKg: bigint('token_amount_kg', { mode: 'bigint' }).notNull(),
    /** The subject who asked: the farmer, or an operator on the farmer's behalf. */
    requestedBy: text('requested_by').notNull(),
    farmerId: text('farmer_id'),
    depositorAddress: text('depositor_address').notNull(),
    settlementAddress: text('settlement_address').notNull(),
    /** Until when the holder's signature is waited for; null when custody deposits. */
    signUntil: moment('sign_until'),

    countryCode: text('country_code').notNull(),
    payoutAccountType: payoutAccountType('payout_account_type').notNull(),
    sealedPayoutAccount: text('sealed_payout_account').notNull(),
    /** What may be shown of it. */
    maskedAccountNumber: text('masked_account_number').notNull(),

    /** The quote that this session froze: exact decimals. */
    fiatCurrency: text('fiat_currency').notNull(),
    fiatAmount: numeric('fiat_amount').notNull(),
    feeFiat: numeric('fee_fiat').notNull(),
    feeBps: integer('fee_bps').notNull(),
    exchangeRate: numeric('exchange_rate').notNull(),
    quoteExpiresAt: moment('quote_expires_at').notNull(),

    providerName: text('provider_name').notNull(),
    /** From this moment on the provider may have the session, whether its answer came or not. */
    providerAskedAt: moment('provider_asked_at'),
    providerSessionId: text('provider_session_id'),
    providerStatus: rampStatus('provider_status'),

    depositTxHash: text('deposit_tx_hash'),
    /** The tokens are in custody of the settlement contract from `depositedAt` to `releasedAt`. */
    depositedAt: moment('deposited_at'),
    releasedAt: moment('released_at'),
    resolution: cashOutResolution('resolution'),
    resolutionTxHash: text('resolution_tx_hash'),
    refusalCode: text('refusal_code'),
    refusalMessage: text('refusal_message'),

    /** When to look at it next; null when only a hint or the network's word can change anything. */
    dueAt: moment('due_at'),
    fruitlessSteps: integer('fruitless_steps').notNull().default(0),
    /** Counts hints, so that one which comes in the middle of a look is not taken for seen. */
    hints: integer('hints').notNull().default(0),
    createdAt: moment('created_at').notNull(),
    closedAt: moment('closed_at'),
  },
  (t) => [
    unique('cash_out_provider_session').on(t.providerName, t.providerSessionId),
    index('cash_out_due')
      .on(t.dueAt)
      .where(sql`due_at IS NOT NULL`),
    index('cash_out_created').on(t.createdAt, t.id),
    index('cash_out_requested_by').on(t.requestedBy, t.createdAt, t.id),
    index('cash_out_farmer').on(t.farmerId, t.createdAt, t.id),
    index('cash_out_receipt').on(t.receiptId, t.createdAt, t.id),
    index('cash_out_state').on(t.state, t.createdAt, t.id),
    check('cash_out_amount_positive', sql`token_amount_kg > 0`),
    check(
      'cash_out_fiat',
      sql`fiat_amount > 0 AND fee_fiat >= 0 AND exchange_rate > 0 AND fee_bps BETWEEN 0 AND 10000`,
    ),
    check(
      'cash_out_known_at_provider',
      sql`provider_session_id IS NOT NULL OR state IN ('OPENING', 'REFUSED', 'NEEDS_REVIEW')`,
    ),
    check('cash_out_asked_first', sql`provider_session_id IS NULL OR provider_asked_at IS NOT NULL`),
    check(
      'cash_out_resolved_by_decision',
      sql`(state <> 'CONFIRMING' OR coalesce(resolution = 'SETTLE', false))
        AND (state <> 'REFUNDING' OR coalesce(resolution = 'REFUND', false))`,
    ),
    check('cash_out_custody', sql`released_at IS NULL OR deposited_at IS NOT NULL`),
    // As text: a value that a migration adds to the type can't be named in that same migration.
    check(
      'cash_out_state_of_custody',
      sql`CASE
        WHEN state::text IN ('OPENING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'CLOSING', 'REFUSED') THEN deposited_at IS NULL
        WHEN state::text IN ('AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING') THEN deposited_at IS NOT NULL AND released_at IS NULL
        WHEN state::text IN ('SETTLED', 'REFUNDED') THEN released_at IS NOT NULL
        ELSE true END`,
    ),
    check(
      'cash_out_signature_of_a_holder',
      sql`state::text <> 'AWAITING_SIGNATURE' OR sign_until IS NOT NULL`,
    ),
    check('cash_out_refused_says_why', sql`state <> 'REFUSED' OR refusal_message IS NOT NULL`),
    check(
      'cash_out_closed_at',
      sql`state NOT IN ('SETTLED', 'REFUNDED', 'REFUSED') OR closed_at IS NOT NULL`,
    ),
  ],
);

/** Every status that the provider was seen in, in order. Append-only. */
export const cashOutProviderStatuses = pgTable(
  'cash_out_provider_statuses',
  {
    sessionId: uuid('session_id')
      .notNull()
      .references(() => cashOutSessions.id),
    position: integer('position').notNull(),
    status: rampStatus('status').notNull(),
    observedAt: moment('observed_at').notNull(),
  },
  (t) => [unique('cash_out_provider_statuses_position').on(t.sessionId, t.position)],
);

export const cashOutDecision = pgEnum('cash_out_decision', ['RETRY', 'CONFIRM', 'REFUND', 'ACCEPT']);

/** What no rule could decide, and what an operator decided. */
export const cashOutReviews = pgTable(
  'cash_out_reviews',
  {
    id: uuid('id').primaryKey(),
    sessionId: uuid('session_id')
      .notNull()
      .references(() => cashOutSessions.id),
    reason: text('reason').notNull(),
    /** Where the session stood when it was flagged. */
    stateBefore: cashOutState('state_before').notNull(),
    openedAt: moment('opened_at').notNull(),
    /** Null while the review is open, or when the network decided by itself after all. */
    decision: cashOutDecision('decision'),
    decidedBy: text('decided_by'),
    note: text('note'),
    closedAt: moment('closed_at'),
  },
  (t) => [
    uniqueIndex('cash_out_reviews_one_open')
      .on(t.sessionId)
      .where(sql`closed_at IS NULL`),
    index('cash_out_reviews_session').on(t.sessionId, t.openedAt),
    check(
      'cash_out_reviews_decided_by',
      sql`(decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL OR closed_at IS NOT NULL)`,
    ),
  ],
);

/** The manual provider's own sessions: their status changes when an operator says so. */
export const manualRampSessions = pgTable(
  'manual_ramp_sessions',
  {
    /** Random: knowing one session says nothing of another. */
    id: text('id').primaryKey(),
    /** The platform's reference: the same reference gets the same session. */
    reference: text('reference').notNull(),
    status: rampStatus('status').notNull(),
    fiatCurrency: text('fiat_currency').notNull(),
    fiatAmount: numeric('fiat_amount').notNull(),
    createdAt: moment('created_at').notNull(),
    changedAt: moment('changed_at').notNull(),
  },
  (t) => [unique('manual_ramp_sessions_reference').on(t.reference)],
);

/**
 *   DEPLOYING ──landed──▶ DEPLOYED, named to the server by RAMP_SETTLEMENT_ADDRESS
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
    txHash: text('tx_hash'),
    refusalMessage: text('refusal_message'),
    requestedBy: text('requested_by').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  () => [
    // One settlement contract a platform: whatever a program does.
    uniqueIndex('settlement_deployments_once')
      .on(sql`(true)`)
      .where(sql`state <> 'REFUSED'`),
    check(
      'settlement_deployments_address',
      sql`(state = 'DEPLOYED') = (settlement_address IS NOT NULL AND tx_hash IS NOT NULL)`,
    ),
  ],
);
