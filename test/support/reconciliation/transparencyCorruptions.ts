/**
 * Corruptions of logged rows, and of the transparency logs.
 */
import type { Corruption } from './corruptions.ts';

export const LAST_PURCHASE = `(SELECT id FROM transfers WHERE kind = 'purchase' ORDER BY credit_version DESC, id LIMIT 1)`;
const GONE = `CREATE TEMP TABLE gone AS SELECT t.* FROM transfers t JOIN accounts a ON a.id = t.credit_account_id
    JOIN accounts d ON d.id = t.debit_account_id
    WHERE t.kind = 'purchase' AND a.version = t.credit_version AND d.version = t.debit_version LIMIT 1`;

export const TRANSPARENCY_CORRUPTIONS: readonly Corruption[] = [
  {
    invariant: 'I15',
    name: 'a purchase is undone, with balances, key and all',
    isDeletion: true,
    isHidden: true,
    sql: `${GONE};
      UPDATE accounts a SET balance_tonnes = a.balance_tonnes - g.amount_tonnes, version = a.version - 1 FROM gone g WHERE a.id = g.credit_account_id;
      UPDATE accounts a SET balance_tonnes = a.balance_tonnes + g.amount_tonnes, version = a.version - 1 FROM gone g WHERE a.id = g.debit_account_id;
      DELETE FROM idempotency_keys WHERE target_id IN (SELECT id FROM gone);
      DELETE FROM transfers WHERE id IN (SELECT id FROM gone);
      DROP TABLE gone`,
  },
  {
    invariant: 'I15',
    name: 'a transfer is forged among earlier ones',
    sql: `INSERT INTO transfers SELECT gen_random_uuid(), project_id, kind, gen_random_uuid(), debit_account_id, debit_version + 1000,
      debit_balance_tonnes, credit_account_id, credit_version + 1000, credit_balance_tonnes, amount_tonnes, price_per_tonne, price_currency, memo, created_at, written_in
      FROM transfers ORDER BY written_in LIMIT 1`,
  },
  {
    invariant: 'I15',
    name: 'a transfer is forged for a transaction that is still to come',
    sql: `INSERT INTO transfers SELECT gen_random_uuid(), project_id, kind, gen_random_uuid(), debit_account_id, debit_version + 1000,
      debit_balance_tonnes, credit_account_id, credit_version + 1000, credit_balance_tonnes, amount_tonnes, price_per_tonne, price_currency, memo, created_at,
      written_in + 1000000 FROM transfers LIMIT 1`,
  },
  {
    invariant: 'I15',
    name: 'the last audit entry of a process is deleted, with its count',
    isDeletion: true,
    isHidden: true,
    sql: `DELETE FROM audit_entries WHERE number = 5;
      UPDATE audit_writers SET entries = 4 WHERE entries = 5`,
  },
  {
    invariant: 'I15',
    name: 'a tile is shorter, with its head',
    sql: `UPDATE transparency_tiles SET hashes = substring(hashes FOR 32) WHERE log = 'retirements';
      UPDATE transparency_heads SET size = 1 WHERE log = 'retirements'`,
  },
];
