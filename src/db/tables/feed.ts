/**
 * The feed: all tokens' retirement records in one durable order. It is also the registry's copy of those
 * records, which are immutable in their token and so read from the network once.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { bigNumeric, moment, sumNumeric, unixSeconds } from './columns.ts';
import { projects } from './projects.ts';

export const retirementRecords = pgTable(
  'retirement_records',
  {
    /** The feed's cursor: without gaps, in commit order. */
    position: bigint('position', { mode: 'bigint' }).notNull(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    tokenAddress: text('token_address').notNull(),
    index: integer('index').notNull(),
    retiredBy: text('retired_by').notNull(),
    amountBaseUnits: bigNumeric('amount_base_units').notNull(),
    timestamp: unixSeconds('timestamp').notNull(),
    /**
     * The timestamp under which the record was appended, and is in the transparency log; null unless the
     * record was dated anew since.
     */
    firstTimestamp: unixSeconds('first_timestamp'),
    beneficiary: text('beneficiary').notNull(),
    note: text('note').notNull(),
    /** From the platform's attempt or the network's logs, not from the token's record; null until known. */
    txHash: text('tx_hash'),
    /**
     * If true, a retirement of this platform claims the record. If false, one may still claim it: its record
     * could not be stored with its settlement.
     */
    isClaimed: boolean('is_claimed').notNull().default(false),
    appendedAt: moment('appended_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tokenAddress, t.index] }),
    unique('retirement_records_position').on(t.position),
    index('retirement_records_token_position').on(t.tokenAddress, t.position),
    index('retirement_records_time').on(t.timestamp, t.position),
    index('retirement_records_project_time').on(t.projectId, t.timestamp, t.position),
    // Indexes the beneficiary's hash, because a holder's text may be longer than an index entry.
    index('retirement_records_beneficiary_time').on(
      sql`hashtextextended(beneficiary, 0)`,
      t.timestamp,
      t.position,
    ),
    index('retirement_records_transaction').on(t.txHash),
    // Each burn that is signed is compared with custody's own unclaimed records, which are few.
    index('retirement_records_unclaimed')
      .on(t.tokenAddress, t.retiredBy)
      .where(sql`NOT is_claimed`),
    index('retirement_records_unknown_transaction')
      .on(t.position)
      .where(sql`tx_hash IS NULL`),
    check('retirement_records_index', sql`index >= 0`),
  ],
);

/**
 * Sums of retirements: a row for each project, and for each UTC day of a project, of a country, of a vintage
 * and of all. A column that a row is not grouped by is null. Triggers update the sums in the transaction that
 * writes the records.
 */
export const retirementTotals = pgTable(
  'retirement_totals',
  {
    projectId: uuid('project_id'),
    countryCode: text('country_code'),
    vintageYear: integer('vintage_year'),
    /** Whole days since 1970. */
    day: bigint('day', { mode: 'bigint' }),
    amountBaseUnits: sumNumeric('amount_base_units').notNull(),
    retirements: integer('retirements').notNull(),
  },
  (t) => [
    unique('retirement_totals_cell').on(t.projectId, t.countryCode, t.vintageYear, t.day).nullsNotDistinct(),
    index('retirement_totals_day')
      .on(t.day)
      .where(sql`project_id IS NOT NULL`),
  ],
);

/** One row: the last position assigned. Its row lock makes positions follow the order of commits. */
export const feedHead = pgTable(
  'feed_head',
  {
    singleton: boolean('singleton').primaryKey().default(true),
    position: bigint('position', { mode: 'bigint' }).notNull(),
  },
  () => [check('feed_head_singleton', sql`singleton`)],
);
