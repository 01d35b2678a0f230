/**
 * The platform's registrations at the indexer, and the deliveries that it received.
 */
import { sql } from 'drizzle-orm';
import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';

/**
 *   live ──registered again──▶ replaced (removed at the indexer)
 *
 * An attempt without an answer leaves no row: its registration at the indexer is found there by the address,
 * and removed.
 */
export const indexerRegistrations = pgTable(
  'indexer_registrations',
  {
    id: uuid('id').primaryKey(),
    url: text('url').notNull(),
    webhookId: text('webhook_id').notNull(),
    /** The indexer's signing secret, sealed. The indexer sends it once, at registration. */
    sealedSecret: text('sealed_secret').notNull(),
    createdAt: moment('created_at').notNull(),
    replacedAt: moment('replaced_at'),
  },
  () => [
    uniqueIndex('indexer_registrations_one_live')
      .on(sql`(true)`)
      .where(sql`replaced_at IS NULL`),
  ],
);

/** Hints about transactions from verified deliveries, kept until the network was asked about them. */
export const indexerEvents = pgTable(
  'indexer_events',
  {
    id: text('id').primaryKey(),
    tokenAddress: text('token_address').notNull(),
    recordIndex: integer('record_index').notNull(),
    txHash: text('tx_hash').notNull(),
    receivedAt: moment('received_at').notNull(),
  },
  (t) => [index('indexer_events_record').on(t.tokenAddress, t.recordIndex)],
);
