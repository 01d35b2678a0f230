/**
 * The books: the platform's double-entry accounts in whole tonnes, one set of accounts per project.
 *
 * A transfer is both of its entries: it has the version and the balance of each of its two accounts after it.
 * The database moves the accounts itself when transfers are inserted (drizzle/platform), and refuses a
 * transfer that does not continue both histories, and every other change of an account.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  numeric,
  pgEnum,
  pgTable,
  pgView,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { projects } from './projects.ts';

export const accountKind = pgEnum('account_kind', ['issuance', 'inventory', 'buyer', 'retiring', 'retired']);
export const transferKind = pgEnum('transfer_kind', [
  'issue',
  'purchase',
  'retirement_hold',
  'retirement_settle',
  'retirement_return',
  'credit_transfer',
]);

/** Conditions for transfers that debit, or credit, a buyer's account. */
export const BUYER_DEBITED = sql.raw(`kind IN ('retirement_hold', 'credit_transfer')`);
export const BUYER_CREDITED = sql.raw(`kind IN ('purchase', 'retirement_return', 'credit_transfer')`);

export const accounts = pgTable(
  'accounts',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    kind: accountKind('kind').notNull(),
    /** The buyer's id; empty for the accounts that a project has once. */
    ownerId: text('owner_id').notNull(),
    balanceTonnes: bigint('balance_tonnes', { mode: 'bigint' })
      .notNull()
      .default(sql`0`),
    /** The number of entries posted. */
    version: bigint('version', { mode: 'bigint' })
      .notNull()
      .default(sql`0`),
  },
  (t) => [
    unique('accounts_identity').on(t.projectId, t.kind, t.ownerId),
    index('accounts_owner')
      .on(t.ownerId)
      .where(sql`kind = 'buyer'`),
    check(
      'accounts_sign',
      sql`CASE WHEN kind = 'issuance' THEN balance_tonnes <= 0 ELSE balance_tonnes >= 0 END`,
    ),
    check('accounts_owner_is_buyer', sql`(kind = 'buyer') = (owner_id <> '')`),
  ],
);

/** The step that transfers_once makes unique: a hold is either settled or returned, so both are one step. */
export const STEP_OF_CAUSE = sql`(CASE WHEN kind = 'retirement_return' THEN 'retirement_settle'::transfer_kind ELSE kind END)`;

/**
 * Append-only. It has no foreign keys: the trigger that moves the accounts refuses a transfer unless both
 * exist, belong to its project and have the kinds of its two sides, and accounts are never deleted.
 */
export const transfers = pgTable(
  'transfers',
  {
    /** For a purchase or a credit transfer: its id. */
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    kind: transferKind('kind').notNull(),
    /** The transfer's cause: the id of the project, purchase, retirement or credit transfer. */
    causeId: uuid('cause_id').notNull(),
    debitAccountId: bigint('debit_account_id', { mode: 'bigint' }).notNull(),
    /** Number in the debited account's history, from 1 without gaps. */
    debitVersion: bigint('debit_version', { mode: 'bigint' }).notNull(),
    /** Balance of the debited account after the transfer. */
    debitBalanceTonnes: bigint('debit_balance_tonnes', { mode: 'bigint' }).notNull(),
    creditAccountId: bigint('credit_account_id', { mode: 'bigint' }).notNull(),
    creditVersion: bigint('credit_version', { mode: 'bigint' }).notNull(),
    creditBalanceTonnes: bigint('credit_balance_tonnes', { mode: 'bigint' }).notNull(),
    amountTonnes: bigint('amount_tonnes', { mode: 'bigint' }).notNull(),
    /** For a purchase: the price of a tonne that was in force; null if none was set. */
    pricePerTonne: numeric('price_per_tonne'),
    priceCurrency: text('price_currency'),
    /**
     * For a credit transfer: its purpose, or null. Part of a signed leaf of the transparency log, which can't be
     * erased: it may hold nothing personal.
     */
    memo: text('memo'),
    createdAt: moment('created_at').notNull(),
    /** The transaction that inserted the row: the transparency log takes transfers in this order. */
    writtenIn: bigint('written_in', { mode: 'bigint' })
      .notNull()
      .default(sql`(pg_current_xact_id()::text)::bigint`),
  },
  (t) => [
    // A row for each half megabyte: transactions follow the order of pages, and the log asks for the newest.
    index('transfers_written_in')
      .using('brin', t.writtenIn)
      .with({ pages_per_range: 64, autosummarize: true }),
    // The same step of the same cause is posted once, and a hold is either settled or returned. A purchase is
    // its transfer, so its primary key ensures the same.
    uniqueIndex('transfers_once')
      .on(t.causeId, STEP_OF_CAUSE)
      .where(sql`kind <> 'purchase'`),
    unique('transfers_debit').on(t.debitAccountId, t.debitVersion),
    unique('transfers_credit').on(t.creditAccountId, t.creditVersion),
    // For buyers' statements, which go through all accounts of a buyer in the order of time.
    index('transfers_buyer_debited').on(t.debitAccountId, t.createdAt, t.debitVersion).where(BUYER_DEBITED),
    index('transfers_buyer_credited')
      .on(t.creditAccountId, t.createdAt, t.creditVersion)
      .where(BUYER_CREDITED),
    // Serial numbers of retired tonnes are found by the balance that they end at.
    index('transfers_serials')
      .on(t.creditAccountId, t.creditBalanceTonnes)
      .where(sql`kind = 'retirement_settle'`),
    check('transfers_positive', sql`amount_tonnes > 0`),
    check('transfers_two_sides', sql`debit_account_id <> credit_account_id`),
    check('transfers_own_cause', sql`(kind IN ('purchase', 'credit_transfer')) = (cause_id = id)`),
    check('transfers_memo', sql`memo IS NULL OR kind = 'credit_transfer'`),
    // Only issuance, the contra account, may go below zero. The rule holds after every transfer.
    check(
      'transfers_sign',
      sql`credit_balance_tonnes >= amount_tonnes
        AND CASE WHEN kind = 'issue' THEN debit_balance_tonnes <= -amount_tonnes ELSE debit_balance_tonnes >= 0 END`,
    ),
    check(
      'transfers_price',
      sql`(price_per_tonne IS NULL) = (price_currency IS NULL) AND (price_per_tonne IS NULL OR kind = 'purchase')`,
    ),
  ],
);

/** Each transfer from the side of one of its two accounts. */
export const entries = pgView('entries', {
  accountId: bigint('account_id', { mode: 'bigint' }).notNull(),
  /** Number in the account's history, from 1 without gaps. */
  version: bigint('version', { mode: 'bigint' }).notNull(),
  transferId: uuid('transfer_id').notNull(),
  kind: transferKind('kind').notNull(),
  causeId: uuid('cause_id').notNull(),
  /** Signed: an amount that leaves the account is negative. */
  amountTonnes: bigint('amount_tonnes', { mode: 'bigint' }).notNull(),
  balanceBeforeTonnes: bigint('balance_before_tonnes', { mode: 'bigint' }).notNull(),
  balanceAfterTonnes: bigint('balance_after_tonnes', { mode: 'bigint' }).notNull(),
  createdAt: moment('created_at').notNull(),
}).as(sql`
  SELECT debit_account_id AS account_id, debit_version AS version, id AS transfer_id, kind, cause_id,
    -amount_tonnes AS amount_tonnes, debit_balance_tonnes + amount_tonnes AS balance_before_tonnes,
    debit_balance_tonnes AS balance_after_tonnes, created_at
  FROM transfers
  UNION ALL
  SELECT credit_account_id, credit_version, id, kind, cause_id,
    amount_tonnes, credit_balance_tonnes - amount_tonnes, credit_balance_tonnes, created_at
  FROM transfers`);

/**
 * Purchases: the transfers of that kind, with the buyer whose account they credit. The kind is compared as text,
 * which matches no partial index: otherwise a plan would read such an index whole for each id when the statistics
 * are from a time without this kind.
 */
export const purchases = pgView('purchases', {
  id: uuid('id').notNull(),
  projectId: uuid('project_id').notNull(),
  buyerId: text('buyer_id').notNull(),
  amountTonnes: bigint('amount_tonnes', { mode: 'bigint' }).notNull(),
  pricePerTonne: numeric('price_per_tonne'),
  priceCurrency: text('price_currency'),
  createdAt: moment('created_at').notNull(),
}).as(sql`
  SELECT t.id, t.project_id, a.owner_id AS buyer_id, t.amount_tonnes, t.price_per_tonne, t.price_currency, t.created_at
  FROM transfers t JOIN accounts a ON a.id = t.credit_account_id
  WHERE t.kind::text = 'purchase'`);

/**
 * Credit transfers: the transfers of that kind, with the buyers who own their two accounts. The kind is compared
 * as text for the same reason.
 */
export const creditTransfers = pgView('credit_transfers', {
  id: uuid('id').notNull(),
  projectId: uuid('project_id').notNull(),
  fromBuyerId: text('from_buyer_id').notNull(),
  toBuyerId: text('to_buyer_id').notNull(),
  amountTonnes: bigint('amount_tonnes', { mode: 'bigint' }).notNull(),
  memo: text('memo'),
  createdAt: moment('created_at').notNull(),
}).as(sql`
  SELECT t.id, t.project_id, d.owner_id AS from_buyer_id, c.owner_id AS to_buyer_id, t.amount_tonnes, t.memo, t.created_at
  FROM transfers t JOIN accounts d ON d.id = t.debit_account_id JOIN accounts c ON c.id = t.credit_account_id
  WHERE t.kind::text = 'credit_transfer'`);
