/**
 * Runs of the expiry job with the result for each receipt that was due, and the last findings of
 * reconciliations.
 */
import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  pgEnum,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { receipts } from './receipts.ts';

export const expiryTrigger = pgEnum('expiry_trigger', ['NIGHTLY', 'CATCH_UP', 'MANUAL']);

/**
 *   started ──every due receipt examined──▶ swept ──the last of its expiries decided──▶ finished
 */
export const expiryRuns = pgTable(
  'expiry_runs',
  {
    id: uuid('id').primaryKey(),
    trigger: expiryTrigger('trigger').notNull(),
    /** The night in the job's time zone; null for manual runs. */
    night: date('night', { mode: 'string' }),
    /** Null unless MANUAL. */
    requestedBy: text('requested_by'),
    startedAt: moment('started_at').notNull(),
    sweptAt: moment('swept_at'),
    endedAt: moment('ended_at'),
    /** When the sweep continues if no instance holds it; null once swept. */
    dueAt: moment('due_at'),
    fruitlessSteps: integer('fruitless_steps').notNull().default(0),
    /** Why the sweep could not continue; null when it could. */
    problem: text('problem'),
  },
  (t) => [
    // One run a night, however many instances start one.
    uniqueIndex('expiry_runs_night').on(t.night),
    index('expiry_runs_due')
      .on(t.dueAt)
      .where(sql`swept_at IS NULL`),
    index('expiry_runs_started').on(t.startedAt, t.id),
    check('expiry_runs_night_or_manual', sql`(trigger = 'MANUAL') = (night IS NULL)`),
    check('expiry_runs_requested_or_scheduled', sql`(trigger = 'MANUAL') = (requested_by IS NOT NULL)`),
    check('expiry_runs_order', sql`ended_at IS NULL OR swept_at IS NOT NULL`),
    check('expiry_runs_due_until_swept', sql`(swept_at IS NULL) = (due_at IS NOT NULL)`),
  ],
);

/** PENDING until the network decides; NOT_DUE when the network's clock says so; FAILED until the next run. */
export const expiryItemState = pgEnum('expiry_item_state', ['PENDING', 'EXPIRED', 'NOT_DUE', 'FAILED']);

export const expiryItems = pgTable(
  'expiry_items',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => expiryRuns.id),
    receiptId: uuid('receipt_id')
      .notNull()
      .references(() => receipts.id),
    state: expiryItemState('state').notNull(),
    message: text('message'),
    decidedAt: moment('decided_at'),
  },
  (t) => [
    primaryKey({ columns: [t.runId, t.receiptId] }),
    // The first run or instance to insert the item handles the receipt; the others skip it.
    uniqueIndex('expiry_items_one_pending')
      .on(t.receiptId)
      .where(sql`state = 'PENDING'`),
    // Read with each decided item, to see whether it is the run's last one. The condition is that of the index
    // above in other words: in the same words, the planner, whose statistics are from a time without pending
    // items, would read all of them here for the items of a few receipts.
    index('expiry_items_pending')
      .on(t.runId)
      .where(sql`decided_at IS NULL`),
    index('expiry_items_failed')
      .on(t.runId, t.decidedAt)
      .where(sql`state = 'FAILED'`),
    check('expiry_items_failed_says_why', sql`state <> 'FAILED' OR message IS NOT NULL`),
    check('expiry_items_decided', sql`(state = 'PENDING') = (decided_at IS NULL)`),
  ],
);

/** One row for each invariant: the last verdict, and the snapshot from which an incremental run compares. */
export const reconciledInvariants = pgTable(
  'reconciled_invariants',
  {
    invariant: text('invariant').primaryKey(),
    verdict: text('verdict', { enum: ['HOLDS', 'BROKEN', 'NOT_PROVED'] }).notNull(),
    /** A list. A finding of an incremental run stays until a full run no longer finds it. */
    findings: jsonb('findings').notNull(),
    /** A list of what could not be compared, and why. */
    notProved: jsonb('not_proved').notNull(),
    /** The last snapshot in which everything agreed (reconciliation/excerpt.ts); null if there was none. */
    database: text('database'),
    transaction: text('transaction'),
    agreedAt: moment('agreed_at'),
    comparedAt: moment('compared_at').notNull(),
    /** When everything was compared last, and not only the changes. */
    fullyComparedAt: moment('fully_compared_at'),
  },
  () => [
    check('reconciled_invariants_verdict', sql`verdict IN ('HOLDS', 'BROKEN', 'NOT_PROVED')`),
    check(
      'reconciled_invariants_snapshot',
      sql`(transaction IS NULL) = (database IS NULL) AND (transaction IS NULL) = (agreed_at IS NULL)`,
    ),
  ],
);

/** One row: when the next reconciliations are due, on the instance that checks first. */
export const reconciliationSchedule = pgTable(
  'reconciliation_schedule',
  {
    singleton: boolean('singleton').primaryKey().default(true),
    dueAt: moment('due_at').notNull().defaultNow(),
    fullDueAt: moment('full_due_at').notNull().defaultNow(),
  },
  () => [check('reconciliation_schedule_singleton', sql`singleton`)],
);
