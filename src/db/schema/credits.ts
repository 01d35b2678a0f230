/**
 * What buyers do with credits: purchases (books only) and retirements (books, then a burn on the network).
 */
import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, pgEnum, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { projects } from './projects.ts';

export const purchases = pgTable(
  'purchases',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    buyerId: text('buyer_id').notNull(),
    amountTonnes: bigint('amount_tonnes', { mode: 'bigint' }).notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [
    index('purchases_buyer').on(t.buyerId, t.createdAt),
    check('purchases_positive', sql`amount_tonnes > 0`),
  ],
);

/**
 *   PENDING ──burn landed──▶ RETIRED
 *      │ └──refused, or proved dead and given up──▶ REFUSED (credits returned)
 *      └──can't be decided──▶ NEEDS_REVIEW (credits still held) ──▶ RETIRED | REFUSED
 */
export const retirementState = pgEnum('retirement_state', ['PENDING', 'RETIRED', 'REFUSED', 'NEEDS_REVIEW']);

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
    amountTonnes: bigint('amount_tonnes', { mode: 'bigint' }).notNull(),
    state: retirementState('state').notNull(),
    /** The landed burn's hash, and the index of its record in the token. */
    txHash: text('tx_hash'),
    recordIndex: integer('record_index'),
    ledger: bigint('ledger', { mode: 'bigint' }),
    refusalMessage: text('refusal_message'),
    requestedAt: moment('requested_at').notNull(),
    settledAt: moment('settled_at'),
  },
  (t) => [
    unique('retirements_record').on(t.projectId, t.recordIndex),
    index('retirements_buyer').on(t.buyerId, t.requestedAt, t.id),
    index('retirements_project').on(t.projectId, t.requestedAt, t.id),
    index('retirements_requested').on(t.requestedAt, t.id),
    check('retirements_positive', sql`amount_tonnes > 0`),
    check(
      'retirements_retired_is_proved',
      sql`(state = 'RETIRED') = (tx_hash IS NOT NULL AND record_index IS NOT NULL)`,
    ),
  ],
);
