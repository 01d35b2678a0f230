/**
 * The feed: every token's retirement records in one durable order. Also the registry's stored copy of those
 * records, which are immutable at their token and so are read from the network once.
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
import { bigNumeric, moment } from './columns.ts';
import { projects } from './projects.ts';

export const retirementRecords = pgTable(
  'retirement_records',
  {
    /** The feed's cursor: gapless, in commit order. */
    position: bigint('position', { mode: 'bigint' }).notNull(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    tokenAddress: text('token_address').notNull(),
    index: integer('index').notNull(),
    retiredBy: text('retired_by').notNull(),
    amount: bigNumeric('amount').notNull(),
    timestamp: bigint('timestamp', { mode: 'bigint' }).notNull(),
    beneficiary: text('beneficiary').notNull(),
    note: text('note').notNull(),
    /** Not part of the token's record; known from our own burn or from the indexer, else null. */
    txHash: text('tx_hash'),
    appendedAt: moment('appended_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tokenAddress, t.index] }),
    unique('retirement_records_position').on(t.position),
    index('retirement_records_token_position').on(t.tokenAddress, t.position),
    check('retirement_records_index', sql`index >= 0`),
  ],
);

/** One row: the last position given out. Its row lock makes positions follow the order of commits. */
export const feedHead = pgTable(
  'feed_head',
  {
    singleton: boolean('singleton').primaryKey().default(true),
    position: bigint('position', { mode: 'bigint' }).notNull(),
  },
  () => [check('feed_head_singleton', sql`singleton`)],
);
