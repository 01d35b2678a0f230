/**
 * The embedded network's own storage, in a schema that the platform never reads. Tokens and deposits have
 * columns for the values that rules and reads need; the other arguments of a call are only in its
 * transaction. Amounts, balances and supplies have the contracts' names, and are in base units as there.
 *
 * drizzle/embedded-network adds by hand: CHECKs on a token's supply, and triggers that make retirement
 * records, landed transactions and events append-only.
 */
import { bigint, boolean, index, integer, jsonb, pgSchema, primaryKey, text } from 'drizzle-orm/pg-core';
import { bigNumeric, bytes, unixSeconds } from '../../../db/tables/columns.ts';
import type { CallResult, OffRampDeposit, ReceiptStatus, RefusalReason, TokenTemplate } from '../port.ts';
import type { ContractEvent } from './contracts/effects.ts';

export const embeddedNetwork = pgSchema('embedded_network');

/** A single row. Its lock serialises landing, and every decision about transactions that may still land. */
export const ledgerClock = embeddedNetwork.table('ledger_clock', {
  singleton: boolean('singleton').primaryKey().default(true),
  networkId: text('network_id').notNull(),
  /** Number of the latest closed ledger. */
  sequence: bigint('sequence', { mode: 'bigint' }).notNull(),
  closedAt: unixSeconds('closed_at').notNull(),
  /** Seconds added to every instance's clock, because the network's time was moved ahead by hand. */
  offsetSeconds: bigint('offset_seconds', { mode: 'bigint' }).notNull(),
});

export const tokens = embeddedNetwork.table('tokens', {
  address: text('address').primaryKey(),
  template: text('template').$type<TokenTemplate>().notNull(),
  /** Holds every role: minter, manager, pauser. */
  admin: text('admin').notNull(),
  symbol: text('symbol').notNull(),
  paused: boolean('paused').notNull(),
  status: text('status').$type<ReceiptStatus>().notNull(),
  /** Null for carbon credits. u64 on the network, so wider than bigint. */
  expiryDate: bigNumeric('expiry_date'),
  totalSupply: bigNumeric('total_supply').notNull(),
  totalRetired: bigNumeric('total_retired').notNull(),
  totalRetirements: integer('total_retirements').notNull(),
});

export const balances = embeddedNetwork.table(
  'balances',
  {
    tokenAddress: text('token_address')
      .notNull()
      .references(() => tokens.address),
    holder: text('holder').notNull(),
    amount: bigNumeric('amount').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tokenAddress, t.holder] })],
);

export const retirements = embeddedNetwork.table(
  'retirements',
  {
    tokenAddress: text('token_address')
      .notNull()
      .references(() => tokens.address),
    index: integer('index').notNull(),
    retiredBy: text('retired_by').notNull(),
    amount: bigNumeric('amount').notNull(),
    timestamp: unixSeconds('timestamp').notNull(),
    beneficiary: text('beneficiary').notNull(),
    note: text('note').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tokenAddress, t.index] })],
);

export const settlements = embeddedNetwork.table('settlements', {
  address: text('address').primaryKey(),
  /** Settler and manager. */
  admin: text('admin').notNull(),
  treasury: text('treasury').notNull(),
  paused: boolean('paused').notNull(),
});

export const offRamps = embeddedNetwork.table(
  'off_ramps',
  {
    settlementAddress: text('settlement_address')
      .notNull()
      .references(() => settlements.address),
    referenceId: text('reference_id').notNull(),
    depositor: text('depositor').notNull(),
    tokenAddress: text('token_address')
      .notNull()
      .references(() => tokens.address),
    amount: bigNumeric('amount').notNull(),
    status: text('status').$type<OffRampDeposit['status']>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.settlementAddress, t.referenceId] })],
);

/**
 * Landed transactions: either with a result, or refused by the contract and without any other effect. Their
 * signed bytes contain the caller and the call.
 */
export const transactions = embeddedNetwork.table('transactions', {
  hash: text('hash').primaryKey(),
  ledger: bigint('ledger', { mode: 'bigint' }).notNull(),
  signedBytes: bytes('signed_bytes').notNull(),
  result: jsonb('result').$type<CallResult>(),
  refusalReason: text('refusal_reason').$type<RefusalReason>(),
  refusalMessage: text('refusal_message'),
});

/** Published events, in the order of landing: `sequence` rises with commits and may have gaps. */
export const events = embeddedNetwork.table(
  'events',
  {
    sequence: bigint('sequence', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    id: text('id').notNull().unique(),
    contract: text('contract').notNull(),
    eventType: text('event_type').notNull(),
    ledger: bigint('ledger', { mode: 'bigint' }).notNull(),
    txHash: text('tx_hash')
      .notNull()
      .references(() => transactions.hash),
    timestamp: unixSeconds('timestamp').notNull(),
    data: jsonb('data').$type<ContractEvent['data']>().notNull(),
  },
  (t) => [index('events_contract').on(t.contract, t.sequence)],
);

/** The embedded indexer's registrations. */
export const webhooks = embeddedNetwork.table('webhooks', {
  id: text('id').primaryKey(),
  url: text('url').notNull(),
  events: jsonb('events').$type<string[]>().notNull(),
  /** Signs every delivery to this registration. The indexer needs it unencrypted. */
  secret: text('secret').notNull(),
  /** Events up to here were published before the registration and are not delivered to it. */
  afterSequence: bigint('after_sequence', { mode: 'bigint' }).notNull(),
  createdAt: unixSeconds('created_at').notNull(),
});

/** One row: how far all instances of the embedded indexer together have claimed the events. */
export const indexerCursor = embeddedNetwork.table('indexer_cursor', {
  singleton: boolean('singleton').primaryKey().default(true),
  sequence: bigint('sequence', { mode: 'bigint' }).notNull(),
});
