/**
 * Acts of holders with a wallet of their own: what was prepared for them to sign.
 */
import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { projects } from './projects.ts';
import { cashOutSessions } from './ramp.ts';
import { submissions } from './submission.ts';

/**
 *   prepared ──signed, given back and committed──▶ what its submission says: under way, landed, refused, expired
 *
 * What was never given back stays prepared: it may have been sent by the wallet itself, and the network shows that.
 */
export const holderActs = pgTable(
  'holder_acts',
  {
    id: uuid('id').primaryKey(),
    /** The kind of network call. */
    kind: text('kind', { enum: ['retire', 'approve', 'initiateOffRamp'] }).notNull(),
    /** The call itself, encoded like a submission's. */
    call: jsonb('call').notNull(),
    holder: text('holder').notNull(),
    /** The subject who asked for it, and whose it is. */
    preparedBy: text('prepared_by').notNull(),
    /** The cash-out that it belongs to; null for a retirement. */
    cashOutSessionId: uuid('cash_out_session_id').references(() => cashOutSessions.id),
    /** The project whose credits a retirement burns; null for a cash-out. */
    projectId: uuid('project_id').references(() => projects.id),
    /** Of a retirement that landed: the record in its token, and the transaction that made it. */
    recordIndex: integer('record_index'),
    recordTxHash: text('record_tx_hash'),
    /** What the wallet got. */
    format: text('format', { enum: ['embedded-payload', 'stellar-xdr', 'evm-call'] }).notNull(),
    payload: text('payload').notNull(),
    /** Unix seconds of the network's clock; null where it does not expire. */
    validUntil: bigint('valid_until', { mode: 'bigint' }),
    /** The latest ledger before it was prepared: a wallet that sends it by itself can't have done so earlier. */
    preparedAtLedger: bigint('prepared_at_ledger', { mode: 'bigint' }).notNull(),
    /**
     * From then on the signed transaction is on its way. Another one takes its place only when it is dead, and the
     * wallet has landed the act by itself.
     */
    submissionId: uuid('submission_id').references(() => submissions.id),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('holder_acts_submission').on(t.submissionId),
    // The feed asks who made a record.
    index('holder_acts_record')
      .on(t.projectId, t.recordIndex)
      .where(sql`record_index IS NOT NULL`),
    index('holder_acts_session').on(t.cashOutSessionId, t.createdAt, t.id),
    check('holder_acts_session_of_deposit', sql`(kind = 'retire') = (cash_out_session_id IS NULL)`),
    check('holder_acts_record_is_known', sql`(record_index IS NULL) = (record_tx_hash IS NULL)`),
    check('holder_acts_kind', sql`kind IN ('retire', 'approve', 'initiateOffRamp')`),
  ],
);
