/**
 * Single corruptions of what buyers and developers agreed on: transfers of credits between buyers, and prices.
 */
import type { Corruption } from './corruptions.ts';

const A_CREDIT_TRANSFER = `(SELECT id FROM credit_transfers ORDER BY id LIMIT 1)`;

export const CREDIT_TRANSFER_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a credit transfer is forged',
    invariant: 'I11',
    sql: `INSERT INTO credit_transfers SELECT gen_random_uuid(), project_id, from_buyer_id, to_buyer_id, amount_tonnes, memo, created_at
      FROM credit_transfers LIMIT 1`,
  },
  {
    name: 'a credit transfer is deleted',
    invariant: 'I11',
    sql: `DELETE FROM credit_transfers WHERE id = ${A_CREDIT_TRANSFER}`,
  },
  {
    name: 'a credit transfer has another amount',
    invariant: 'I11',
    sql: `UPDATE credit_transfers SET amount_tonnes = amount_tonnes + 1 WHERE id = ${A_CREDIT_TRANSFER}`,
  },
  {
    name: 'a credit transfer goes the other way',
    invariant: 'I11',
    sql: `UPDATE credit_transfers SET from_buyer_id = to_buyer_id, to_buyer_id = from_buyer_id WHERE id = ${A_CREDIT_TRANSFER}`,
  },
  {
    name: 'a credit transfer is to another buyer',
    invariant: 'I11',
    sql: `UPDATE credit_transfers SET to_buyer_id = 'mallory' WHERE id = ${A_CREDIT_TRANSFER}`,
  },
  {
    name: 'a credit transfer is of another project',
    invariant: 'I11',
    sql: `UPDATE credit_transfers c SET project_id = (SELECT id FROM projects WHERE id <> c.project_id LIMIT 1)
      WHERE id = ${A_CREDIT_TRANSFER}`,
  },
];

export const PRICE_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a purchase has another price',
    invariant: 'I11',
    sql: `UPDATE transfers SET unit_price = unit_price - 1 WHERE id = (SELECT id FROM purchases WHERE unit_price IS NOT NULL LIMIT 1)`,
  },
  {
    name: 'a purchase is in another currency',
    invariant: 'I11',
    sql: `UPDATE transfers SET price_currency = 'KES' WHERE id = (SELECT id FROM purchases WHERE unit_price IS NOT NULL LIMIT 1)`,
  },
  {
    name: 'a price is deleted',
    invariant: 'I11',
    sql: `DELETE FROM project_prices WHERE number = 1`,
  },
  {
    name: 'a price is forged',
    invariant: 'I14',
    sql: `INSERT INTO project_prices SELECT gen_random_uuid(), project_id, number + 1, 0.01, price_currency, set_by, created_at
      FROM project_prices ORDER BY number DESC LIMIT 1`,
  },
];
