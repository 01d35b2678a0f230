/**
 * Pledges of receipts: the lenders who have a claim to a receipt, from when to when. Kept for ever.
 */
import { sql } from 'drizzle-orm';
import { check, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { receipts } from './receipts.ts';

export const receiptPledges = pgTable(
  'receipt_pledges',
  {
    id: uuid('id').primaryKey(),
    receiptId: uuid('receipt_id')
      .notNull()
      .references(() => receipts.id),
    /** The lender's name, for people. */
    lenderName: text('lender_name').notNull(),
    /** The subject of the lender's token; null when only operators may release. */
    lenderId: text('lender_id'),
    /** The lender's own name of the loan. */
    loanReference: text('loan_reference').notNull(),
    pledgedBy: text('pledged_by').notNull(),
    pledgedAt: moment('pledged_at').notNull(),
    releasedBy: text('released_by'),
    releasedAt: moment('released_at'),
  },
  (t) => [
    // One open pledge for each receipt.
    uniqueIndex('receipt_pledges_one_open')
      .on(t.receiptId)
      .where(sql`released_at IS NULL`),
    // A lender's open pledges.
    index('receipt_pledges_lender')
      .on(t.lenderId)
      .where(sql`released_at IS NULL`),
    index('receipt_pledges_receipt').on(t.receiptId, t.pledgedAt, t.id),
    check('receipt_pledges_released_by', sql`(released_at IS NULL) = (released_by IS NULL)`),
  ],
);
