/**
 * The platform's registrations at the indexer, and the deliveries that it received.
 */
import { sql } from 'drizzle-orm';
import { index, integer, pgEnum, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';

/**
 *   LIVE ──registered again──▶ REPLACED (removed at the indexer)
 *
 * An attempt without an answer leaves no row: its registration at the indexer is found there by the address,
 * and removed.
 */
export const registrationState = pgEnum('registration_state', ['LIVE', 'REPLACED']);

export const indexerRegistrations = pgTable(
  'indexer_registrations',
  {
    id: uuid('id').primaryKey(),
    state: registrationState('state').notNull(),
    url: text('url').notNull(),
    webhookId: text('webhook_id').notNull(),
    /** The indexer's signing secret, sealed. The indexer sends it once, at registration. */
    sealedSecret: text('sealed_secret').notNull(),
    createdAt: moment('created_at').notNull(),
    replacedAt: moment('replaced_at'),
  },
  (t) => [
    uniqueIndex('indexer_registrations_one_live')
      .on(t.state)
      .where(sql`state = 'LIVE'`),
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
