/**
 * Submission: intents, and the signed attempts that carry them to the network.
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
import { bytes, moment } from './columns.ts';

export const submissionState = pgEnum('submission_state', [
  'PENDING',
  'SUCCEEDED',
  'REFUSED',
  'NEEDS_REVIEW',
]);

/** Whose key signs: custody's, and again when what was signed is dead; or a holder's, which nobody here has. */
export const submissionSigner = pgEnum('submission_signer', ['CUSTODY', 'HOLDER']);

export const submissions = pgTable(
  'submissions',
  {
    id: uuid('id').primaryKey(),
    /** The kind of network call. */
    kind: text('kind').notNull(),
    /** What the call is for: a project, a retirement, … */
    subjectId: uuid('subject_id').notNull(),
    /** The call itself, encoded by callCodec. */
    call: jsonb('call').notNull(),
    signer: submissionSigner('signer').notNull().default('CUSTODY'),
    state: submissionState('state').notNull(),
    /** When the next step is due; claims push it forward, so a crashed instance's work comes back by itself. */
    dueAt: moment('due_at').notNull(),
    /** How often it was signed when an operator resumed it last: what died before counts no more against it. */
    attemptsBeforeResume: integer('attempts_before_resume').notNull().default(0),
    /** Consecutive steps that learnt nothing; drives the back-off. */
    fruitlessSteps: integer('fruitless_steps').notNull().default(0),
    /** For SUCCEEDED: the landed hash and the call's result; for the others why. */
    txHash: text('tx_hash'),
    result: jsonb('result'),
    refusalReason: text('refusal_reason'),
    message: text('message'),
    createdAt: moment('created_at').notNull(),
    settledAt: moment('settled_at'),
  },
  (t) => [
    // One of a kind for each subject; only what was refused for good may be asked again, and an approval, which says
    // how much may be taken in all and so does no more when it is repeated.
    uniqueIndex('submissions_intent')
      .on(t.subjectId, t.kind)
      .where(sql`state <> 'REFUSED' AND NOT (kind = 'approve' AND state = 'SUCCEEDED')`),
    index('submissions_subject').on(t.subjectId),
    index('submissions_due')
      .on(t.dueAt)
      .where(sql`state = 'PENDING'`),
    index('submissions_review')
      .on(t.createdAt)
      .where(sql`state = 'NEEDS_REVIEW'`),
    check('submissions_succeeded_has_hash', sql`state <> 'SUCCEEDED' OR tx_hash IS NOT NULL`),
  ],
);

/**
 * Accounts that sign, on networks that number what each of them sends. The row is locked while a slot of the
 * account is given away, so that no two submissions get the same one.
 */
export const signingAccounts = pgTable('signing_accounts', {
  address: text('address').primaryKey(),
  /** One past the highest sequence given away; a network that expects more was used by others. */
  nextSequence: bigint('next_sequence', { mode: 'bigint' }).notNull(),
  /** Why nothing is signed any more, with any account; null when all is well. */
  haltedBecause: text('halted_because'),
  /** When an instance may look again whether the reason still stands. */
  reviewDueAt: moment('review_due_at'),
});

/** OPEN until the network decides; then LANDED (with effect), REFUSED (landed without effect) or DEAD. */
export const attemptState = pgEnum('attempt_state', ['OPEN', 'LANDED', 'REFUSED', 'DEAD']);

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
    /** The attempt in the same slot that this one outbids; null for the first one in its slot. */
    outbids: text('outbids').references((): AnyPgColumn => attempts.hash),
    signedBytes: bytes('signed_bytes').notNull(),
    validUntil: bigint('valid_until', { mode: 'bigint' }),
    preparedAtLedger: bigint('prepared_at_ledger', { mode: 'bigint' }).notNull(),
    createdAt: moment('created_at').notNull(),
    /** The proof of death, or the ledger that decided. */
    verdict: text('verdict'),
    decidedAt: moment('decided_at'),
  },
  (t) => [
    unique('attempts_number').on(t.submissionId, t.number),
    // At most one slot with bytes that can still land, and at most one attempt that did: whatever a program does.
    // Attempts that outbid another share its slot (a trigger sees to it), so of them one can land at most.
    uniqueIndex('attempts_one_open')
      .on(t.submissionId)
      .where(sql`state = 'OPEN' AND outbids IS NULL`),
    // A slot is given to one submission at a time. Also finds the live slots of an account.
    uniqueIndex('attempts_slot')
      .on(t.source, t.sequence)
      .where(sql`state <> 'DEAD' AND outbids IS NULL`),
    uniqueIndex('attempts_outbids').on(t.outbids),
    uniqueIndex('attempts_one_landed')
      .on(t.submissionId)
      .where(sql`state = 'LANDED'`),
    check('attempts_number_positive', sql`number > 0`),
  ],
);
