/**
 * The books: the platform's own double-entry accounts of whole tonnes, one set of accounts per project.
 *
 * Triggers written by hand (drizzle/platform) hold what a column check can't: transfers and entries are
 * append-only, a transfer has exactly two entries that sum to zero, each entry continues its account's
 * chain of versions and balances, and an account's balance is that of its latest entry.
 */
import { sql } from 'drizzle-orm';
import { bigint, check, index, pgEnum, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';
import { projects } from './projects.ts';

export const accountKind = pgEnum('account_kind', ['issuance', 'inventory', 'buyer', 'retiring', 'retired']);
export const transferKind = pgEnum('transfer_kind', [
  'issue',
  'purchase',
  'retirement_hold',
  'retirement_settle',
  'retirement_return',
]);

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
    balance: bigint('balance', { mode: 'bigint' })
      .notNull()
      .default(sql`0`),
    /** The number of entries posted so far. */
    version: bigint('version', { mode: 'bigint' })
      .notNull()
      .default(sql`0`),
  },
  (t) => [
    unique('accounts_identity').on(t.projectId, t.kind, t.ownerId),
    index('accounts_owner')
      .on(t.ownerId)
      .where(sql`kind = 'buyer'`),
    check('accounts_sign', sql`CASE WHEN kind = 'issuance' THEN balance <= 0 ELSE balance >= 0 END`),
    check('accounts_owner_is_buyer', sql`(kind = 'buyer') = (owner_id <> '')`),
  ],
);

export const transfers = pgTable(
  'transfers',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id')
      .notNull()
      .references(() => projects.id),
    kind: transferKind('kind').notNull(),
    /** What the transfer is for: the id of the project, purchase or retirement. */
    referenceId: uuid('reference_id').notNull(),
    debitAccountId: bigint('debit_account_id', { mode: 'bigint' })
      .notNull()
      .references(() => accounts.id),
    creditAccountId: bigint('credit_account_id', { mode: 'bigint' })
      .notNull()
      .references(() => accounts.id),
    amount: bigint('amount', { mode: 'bigint' }).notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (t) => [
    // The same step of the same thing can't be posted twice, whoever tries.
    unique('transfers_once').on(t.referenceId, t.kind),
    index('transfers_project').on(t.projectId, t.createdAt),
    check('transfers_positive', sql`amount > 0`),
    check('transfers_two_sides', sql`debit_account_id <> credit_account_id`),
  ],
);

export const entries = pgTable(
  'entries',
  {
    accountId: bigint('account_id', { mode: 'bigint' })
      .notNull()
      .references(() => accounts.id),
    /** Position in the account's own history, from 1 without a hole. */
    version: bigint('version', { mode: 'bigint' }).notNull(),
    transferId: uuid('transfer_id')
      .notNull()
      .references(() => transfers.id),
    /** Signed: what leaves the account is negative. */
    amount: bigint('amount', { mode: 'bigint' }).notNull(),
    balanceBefore: bigint('balance_before', { mode: 'bigint' }).notNull(),
    balanceAfter: bigint('balance_after', { mode: 'bigint' }).notNull(),
  },
  (t) => [
    unique('entries_position').on(t.accountId, t.version),
    unique('entries_side').on(t.transferId, t.accountId),
    check('entries_arithmetic', sql`balance_after = balance_before + amount`),
    check('entries_version_positive', sql`version > 0`),
  ],
);
