/**
 * Retirements, which hold credits in the books and burn them on the network.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  date,
  index,
  integer,
  pgEnum,
  pgTable,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { projects } from './projects.ts';

/**
 *   PENDING ──burn landed──▶ RETIRED
 *      │ └──refused, or proved dead and given up──▶ REFUSED (credits returned)
 *      └──can't be decided──▶ NEEDS_REVIEW (credits still held) ──▶ RETIRED | REFUSED
 */
export const retirementState = pgEnum('retirement_state', ['PENDING', 'RETIRED', 'REFUSED', 'NEEDS_REVIEW']);

/** The reasons that registries ask for; the contract says what each one means. */
export const retirementReason = pgEnum('retirement_reason', [
  'VOLUNTARY_OFFSET',
  'CONTRIBUTION',
  'COMPLIANCE',
  'CORSIA',
  'ARTICLE_6',
]);

export const retirements = pgTable(
  'retirements',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    buyerId: text('buyer_id').notNull(),
    beneficiary: text('beneficiary').notNull(),
    note: text('note').notNull(),
    /** The platform alone has this and the next four columns; the token's record does not have them. */
    beneficiaryId: text('beneficiary_id'),
    /** ISO 3166-1 alpha-2. */
    jurisdiction: text('jurisdiction'),
    reason: retirementReason('reason'),
    periodFrom: date('period_from', { mode: 'string' }),
    /** The first day after the period. */
    periodUntil: date('period_until', { mode: 'string' }),
    amountTonnes: bigint('amount_tonnes', { mode: 'bigint' }).notNull(),
    state: retirementState('state').notNull(),
    /**
     * The hash of the landed burn, whose record in the token has `recordIndex`. Null for an adopted record
     * until the hash is known.
     */
    txHash: text('tx_hash'),
    recordIndex: integer('record_index'),
    ledger: bigint('ledger', { mode: 'bigint' }),
    stateReason: text('state_reason'),
    createdAt: moment('created_at').notNull(),
    settledAt: moment('settled_at'),
  },
  (t) => [
    unique('retirements_record').on(t.projectId, t.recordIndex),
    index('retirements_buyer').on(t.buyerId, t.createdAt, t.id),
    index('retirements_project').on(t.projectId, t.createdAt, t.id),
    index('retirements_created').on(t.createdAt, t.id),
    // For lists by state: rows that are not retired are few.
    index('retirements_not_retired')
      .on(t.createdAt, t.id)
      .where(sql`state <> 'RETIRED'`),
    check('retirements_positive', sql`amount_tonnes > 0`),
    check('retirements_jurisdiction', sql`jurisdiction ~ '^[A-Z]{2}$'`),
    check('retirements_compliance', sql`reason <> 'COMPLIANCE' OR jurisdiction IS NOT NULL`),
    check(
      'retirements_period',
      sql`(period_from IS NULL) = (period_until IS NULL) AND (period_from IS NULL OR period_from < period_until)`,
    ),
    check(
      'retirements_retired_is_proved',
      sql`(state = 'RETIRED') = (record_index IS NOT NULL) AND (state = 'RETIRED' OR tx_hash IS NULL)`,
    ),
    check('retirements_settled_at', sql`(state IN ('RETIRED', 'REFUSED')) = (settled_at IS NOT NULL)`),
  ],
);
