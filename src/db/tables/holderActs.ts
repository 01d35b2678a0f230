/**
 * Acts of holders with a wallet of their own: the calls prepared for them to sign.
 */
import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { moment, unixSeconds } from './columns.ts';
import { projects } from './projects.ts';
import { offRampSessions } from './ramp.ts';
import { submissions } from './submission.ts';

/**
 *   prepared ──signed, returned, committed──▶ its submission's state: under way, landed, refused, expired
 *
 * An act that is never submitted here stays prepared: the wallet may have sent it, as the network shows.
 */
export const holderActs = pgTable(
  'holder_acts',
  {
    id: uuid('id').primaryKey(),
    /** The kind of network call. */
    kind: text('kind', { enum: ['retire', 'setAllowance', 'depositOffRamp'] }).notNull(),
    /** The call itself, encoded like a submission's. */
    call: jsonb('call').notNull(),
    holderAddress: text('holder_address').notNull(),
    /** The subject who asked for it, and may see it. */
    preparedBy: text('prepared_by').notNull(),
    /** The off-ramp session that it belongs to; null for a retirement. */
    offRampSessionId: uuid('off_ramp_session_id').references(() => offRampSessions.id),
    /** The project whose credits a retirement burns; null for an off-ramp session's act. */
    projectId: uuid('project_id').references(() => projects.id),
    /** For a retirement that landed: the record in its token. */
    recordIndex: integer('record_index'),
    /** The format of the payload that the wallet got. */
    format: text('format').notNull(),
    payload: text('payload').notNull(),
    /** Null when it does not expire. */
    validUntil: unixSeconds('valid_until'),
    /** The latest ledger before it was prepared: a wallet cannot have sent it earlier. */
    preparedAtLedger: bigint('prepared_at_ledger', { mode: 'bigint' }).notNull(),
    /**
     * Set when the signed transaction was submitted. Another submission replaces this one only when this one
     * is dead and the wallet has landed the act itself.
     */
    submissionId: uuid('submission_id').references(() => submissions.id),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('holder_acts_submission')
      .on(t.submissionId)
      .where(sql`submission_id IS NOT NULL`),
    // Lookup by the feed: which act made a record.
    index('holder_acts_record')
      .on(t.projectId, t.recordIndex)
      .where(sql`record_index IS NOT NULL`),
    // For the number of acts that a caller has had prepared and not signed.
    index('holder_acts_unsigned')
      .on(t.preparedBy, t.createdAt)
      .where(sql`kind = 'retire' AND submission_id IS NULL`),
    index('holder_acts_session')
      .on(t.offRampSessionId, t.createdAt, t.id)
      .where(sql`off_ramp_session_id IS NOT NULL`),
    check('holder_acts_session_of_deposit', sql`(kind = 'retire') = (off_ramp_session_id IS NULL)`),
    check('holder_acts_kind', sql`kind IN ('retire', 'setAllowance', 'depositOffRamp')`),
  ],
);
