/**
 * Submissions: intents for network calls, and the signed attempts at each.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgEnum,
  pgTable,
  text,
  unique,
  uniqueIndex,
  uuid,
  type AnyPgColumn,
} from 'drizzle-orm/pg-core';
import { approvalRequests } from './approvals.ts';
import { bytes, moment, unixSeconds } from './columns.ts';

export const submissionState = pgEnum('submission_state', [
  'PENDING',
  'SUCCEEDED',
  'REFUSED',
  'NEEDS_REVIEW',
]);

/** Why a submission is under review by an operator. */
export const reviewCause = pgEnum('review_cause', [
  // Signing stopped while the submission was unsigned: its effect may exist already.
  'SIGNING_HALTED',
  // The same, and signing has gone on since, which proves nothing here: only an operator resumes it.
  'SIGNING_RESUMED',
  // The network shows the effect in a transaction that this database does not know.
  'FOUND_ON_NETWORK',
  // The network no longer has the history that would decide an attempt.
  'UNDETERMINABLE',
  // Too many attempts died.
  'ATTEMPTS_DIED',
  // The network decided, but the effects could not be written.
  'SETTLEMENT_FAILED',
  // The network refused the call, or the call contradicts the configuration, and no rule says what follows.
  'REFUSED',
]);

/**
 * The signer: custody, which signs again when an attempt is dead; or a holder, whose key the platform does
 * not have.
 */
export const submissionSigner = pgEnum('submission_signer', ['CUSTODY', 'HOLDER']);

/** The tables that a submission's target can be in. */
export const submissionTarget = pgEnum('submission_target', [
  'PROJECT',
  'RETIREMENT',
  'RECEIPT',
  'OFF_RAMP_SESSION',
  'HOLDER_ACT',
  'SETTLEMENT_DEPLOYMENT',
]);

export const submissions = pgTable(
  'submissions',
  {
    id: uuid('id').primaryKey(),
    /** The kind of network call. */
    kind: text('kind').notNull(),
    /** The table of the call's row. With kind and signer it selects the call's effects (effects.ts). */
    targetType: submissionTarget('target_type').notNull(),
    targetId: uuid('target_id').notNull(),
    /** The call, encoded by exactJson.ts. */
    call: jsonb('call').notNull(),
    signer: submissionSigner('signer').notNull().default('CUSTODY'),
    state: submissionState('state').notNull(),
    /** When the next step is due. A lease moves it ahead: after a crash, work is due when the lease ends. */
    dueAt: moment('due_at').notNull(),
    /**
     * Number of the latest attempt at an operator's last resume: deaths up to that attempt no longer count.
     */
    attemptsBeforeResume: integer('attempts_before_resume').notNull().default(0),
    /** How often it was resumed: what was found before the last time decides nothing any more. */
    resumptions: integer('resumptions').notNull().default(0),
    /** Consecutive looks at open attempts without progress; drives the backoff. */
    fruitlessSteps: integer('fruitless_steps').notNull().default(0),
    /** Consecutive failed steps, counted apart from looks, so that an outage does not make looks rare. */
    failedSteps: integer('failed_steps').notNull().default(0),
    /** How often writing the effects failed since the last review. */
    failedSettlements: integer('failed_settlements').notNull().default(0),
    /** For SUCCEEDED: the landed hash and the call's result. */
    txHash: text('tx_hash'),
    result: jsonb('result'),
    refusalReason: text('refusal_reason'),
    /**
     * Why it was refused or is under review; while PENDING, why the last step failed or the node refuses it.
     */
    stateReason: text('state_reason'),
    /** Set exactly while it is under review. */
    reviewCause: reviewCause('review_cause'),
    /**
     * A description of the effect on the network that an operator adopted as the outcome; no attempt of the
     * submission landed then.
     */
    adoptedOutcome: text('adopted_outcome'),
    createdAt: moment('created_at').notNull(),
    settledAt: moment('settled_at'),
  },
  (t) => [
    // One per kind and target. Exceptions: a refused call may be asked again, and so may `setAllowance`,
    // which sets the total allowance and so has no further effect when repeated. The exceptions differ by
    // their ids, so that one index also finds all submissions of a target: each submission is updated a few
    // times, and each time in every index.
    uniqueIndex('submissions_intent').on(
      t.targetId,
      t.kind,
      sql`(CASE WHEN state = 'REFUSED' OR (kind = 'setAllowance' AND state = 'SUCCEEDED') THEN id ELSE '00000000-0000-0000-0000-000000000000'::uuid END)`,
    ),
    index('submissions_due')
      .on(t.dueAt)
      .where(sql`state = 'PENDING'`),
    // For the list of all submissions, and of those that an operator must decide, which are few.
    index('submissions_created').on(t.createdAt, t.id),
    index('submissions_review')
      .on(t.createdAt, t.id)
      .where(sql`state = 'NEEDS_REVIEW'`),
    check(
      'submissions_succeeded_has_hash',
      sql`state <> 'SUCCEEDED' OR tx_hash IS NOT NULL OR adopted_outcome IS NOT NULL`,
    ),
    check('submissions_settled_at', sql`(state IN ('SUCCEEDED', 'REFUSED')) = (settled_at IS NOT NULL)`),
    // The kinds of NetworkCallKind: a stored kind that the program lacks can be neither sent nor shown.
    check(
      'submissions_kind',
      sql`kind IN ('deployCarbonCredit', 'deployCommodityReceipt', 'mint', 'retire', 'markExpired', 'deployRampSettlement',
        'setAllowance', 'depositOffRamp', 'confirmOffRampSettlement', 'refundOffRamp')`,
    ),
    check('submissions_review_has_cause', sql`(state = 'NEEDS_REVIEW') = (review_cause IS NOT NULL)`),
  ],
);

export const operatorDecision = pgEnum('operator_decision', ['RESUME', 'ADOPT', 'GIVE_UP', 'RESUME_SIGNING']);

/** Decisions of operators where no rule decides, committed with their effects. Append-only. */
export const operatorDecisions = pgTable(
  'operator_decisions',
  {
    id: uuid('id').primaryKey(),
    /** Null for the end of a halt of signing. */
    submissionId: uuid('submission_id').references(() => submissions.id),
    decision: operatorDecision('decision').notNull(),
    decidedBy: text('decided_by').notNull(),
    reason: text('reason').notNull(),
    /** The cause and the reason of the submission, or of the halt, at the decision, which clears them. */
    basis: text('basis').notNull(),
    /** The approval that the decision needed, which names who approved; then `decidedBy` is its requester. */
    approvalRequestId: uuid('approval_request_id').references(() => approvalRequests.id),
    decidedAt: moment('decided_at').notNull(),
  },
  (t) => [
    index('operator_decisions_submission').on(t.submissionId, t.decidedAt),
    check('operator_decisions_of', sql`(decision = 'RESUME_SIGNING') = (submission_id IS NULL)`),
  ],
);

/**
 * Accounts that sign, on networks with a sequence or nonce per account. The row is locked while a sequence
 * slot is assigned, so that no two submissions get the same one.
 */
export const signingAccounts = pgTable('signing_accounts', {
  address: text('address').primaryKey(),
  /**
   * One past the highest sequence assigned, not counting a last one that was proved unused. When the network
   * expects a higher sequence, the account was used elsewhere.
   */
  nextSequence: bigint('next_sequence', { mode: 'bigint' }).notNull(),
  /** Why signing is halted for all accounts; null when it is not. */
  haltedBecause: text('halted_because'),
  /**
   * When an instance may look again whether the reason still holds; without a reason, whether all submissions
   * that went to review for it have been resumed.
   */
  reviewDueAt: moment('review_due_at'),
});

/**
 * Each reason for which an account was halted. The database writes the row when the reason is set; the row
 * ends when signing goes on. An account that is halted anew before that has several open rows, which end
 * together.
 */
export const signingHalts = pgTable(
  'signing_halts',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    address: text('address')
      .notNull()
      .references(() => signingAccounts.address),
    because: text('because').notNull(),
    beganAt: moment('began_at').notNull(),
    endedAt: moment('ended_at'),
    /** The operator's decision; null if the program proved the end. */
    decisionId: uuid('decision_id').references(() => operatorDecisions.id),
    /** The highest final ledger seen until then, and the ledger of the present chain that replaced it. */
    replacedLedger: bigint('replaced_ledger', { mode: 'bigint' }),
    replacedHash: text('replaced_hash'),
    acceptedLedger: bigint('accepted_ledger', { mode: 'bigint' }),
    acceptedHash: text('accepted_hash'),
  },
  (t) => [
    index('signing_halts_open')
      .on(t.address)
      .where(sql`ended_at IS NULL`),
    check('signing_halts_end', sql`ended_at >= began_at`),
    check('signing_halts_accepted', sql`replaced_ledger IS NULL OR accepted_ledger IS NOT NULL`),
  ],
);

/** OPEN until the network decides; then LANDED (with effect), REFUSED (landed without effect) or DEAD. */
export const attemptState = pgEnum('attempt_state', ['OPEN', 'LANDED', 'REFUSED', 'DEAD']);

/**
 * Empty for an attempt that holds its slot; a dead attempt or a replacement, which holds none, has its hash. So
 * one unique index can have all attempts.
 */
export const BESIDE_SLOT = sql`(CASE WHEN state = 'DEAD' OR replaces IS NOT NULL THEN hash ELSE '' END)`;

export const attempts = pgTable(
  'attempts',
  {
    hash: text('hash').primaryKey(),
    submissionId: uuid('submission_id')
      .notNull()
      .references(() => submissions.id),
    number: integer('number').notNull(),
    state: attemptState('state').notNull(),
    source: text('source').notNull(),
    sequence: bigint('sequence', { mode: 'bigint' }),
    /** The attempt in the same slot that this one replaces; null for the first. */
    replaces: text('replaces').references((): AnyPgColumn => attempts.hash),
    signedBytes: bytes('signed_bytes').notNull(),
    /** Null when it does not expire. */
    validUntil: unixSeconds('valid_until'),
    preparedAtLedger: bigint('prepared_at_ledger', { mode: 'bigint' }).notNull(),
    createdAt: moment('created_at').notNull(),
    /** The proof of death, or the deciding ledger. */
    evidence: text('evidence'),
    /** The ledger that includes the attempt. */
    ledger: bigint('ledger', { mode: 'bigint' }),
    /** Why a landed attempt had no effect, as a constant phrase. */
    cause: text('cause'),
    decidedAt: moment('decided_at'),
  },
  (t) => [
    unique('attempts_number').on(t.submissionId, t.number),
    // Database rule: at most one slot per submission with bytes that can still land, and at most one landed
    // attempt. Attempts that replace another share its slot (a trigger enforces it): at most one can land.
    uniqueIndex('attempts_one_open')
      .on(t.submissionId)
      .where(sql`state = 'OPEN' AND replaces IS NULL`),
    // A slot belongs to one submission at a time. The same index finds the outcome of an account's sequences,
    // also in the slots of dead attempts and of replacements, and the highest sequence in a ledger.
    uniqueIndex('attempts_slot')
      .on(t.source, t.sequence, BESIDE_SLOT)
      .where(sql`sequence IS NOT NULL`),
    // Few attempts replace another.
    uniqueIndex('attempts_replaces')
      .on(t.replaces)
      .where(sql`replaces IS NOT NULL`),
    uniqueIndex('attempts_one_landed')
      .on(t.submissionId)
      .where(sql`state = 'LANDED'`),
    check('attempts_number_positive', sql`number > 0`),
    check(
      'attempts_decided_at',
      sql`(state = 'OPEN') = (decided_at IS NULL) AND (state = 'OPEN') = (evidence IS NULL)`,
    ),
    check('attempts_landed_in_ledger', sql`state <> 'LANDED' OR ledger IS NOT NULL`),
  ],
);
