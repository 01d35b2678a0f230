/**
 * Corruptions of agreements between buyers and developers: transfers of credits between buyers, and prices.
 */
import type { Corruption } from './corruptions.ts';

const A_CREDIT_TRANSFER = `(SELECT id FROM credit_transfers WHERE memo IS NOT NULL ORDER BY id LIMIT 1)`;

export const CREDIT_TRANSFER_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a credit transfer goes the other way',
    invariant: 'I11',
    sql: `UPDATE transfers SET debit_account_id = credit_account_id, debit_version = credit_version,
        credit_account_id = debit_account_id, credit_version = debit_version WHERE id = ${A_CREDIT_TRANSFER}`,
  },
  {
    name: 'a credit transfer has another memo',
    invariant: 'I15',
    sql: `UPDATE transfers SET memo = memo || '.' WHERE id = ${A_CREDIT_TRANSFER}`,
  },
];

export const PRICE_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a purchase has another price',
    invariant: 'I11',
    sql: `UPDATE transfers SET price_per_tonne = price_per_tonne - 1 WHERE id = (SELECT id FROM purchases WHERE price_per_tonne IS NOT NULL LIMIT 1)`,
  },
  {
    name: 'a purchase is in another currency',
    invariant: 'I11',
    sql: `UPDATE transfers SET price_currency = 'KES' WHERE id = (SELECT id FROM purchases WHERE price_per_tonne IS NOT NULL LIMIT 1)`,
  },
  {
    name: 'the first price of a project was set by another person than its developer',
    invariant: 'I11',
    sql: `INSERT INTO project_prices (id, project_id, number, price_per_tonne, price_currency, set_by, created_at)
      SELECT id, id, 1, 10, 'EUR', 'someone', created_at FROM projects p
      WHERE NOT EXISTS (SELECT 1 FROM project_prices WHERE project_id = p.id) LIMIT 1`,
  },
];
