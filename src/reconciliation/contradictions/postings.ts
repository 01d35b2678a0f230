/**
 * Contradictions between each posting and its target (a project's mint, a purchase, a retirement, a credit
 * transfer), in both directions.
 */
import { contradictions } from './contradiction.ts';

const hashOf = (text: string) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`;
/** Converted once for each account and project, instead of for each purchase. */
const ACCOUNTS = `(SELECT id, owner_id, to_json(owner_id) AS owner FROM accounts OFFSET 0)`;
const PROJECTS = `(SELECT id, to_json(token_address) AS token FROM projects OFFSET 0)`;

export const POSTING_CONTRADICTIONS = contradictions({
  I11: [
    `SELECT format('transfer %s (%s) of project %s moves from %s of project %s to %s of project %s', t.id, t.kind,
        t.project_id, coalesce(d.kind::text, 'a missing account'), d.project_id,
        coalesce(c.kind::text, 'a missing account'), c.project_id) AS message
      FROM transfers t
      LEFT JOIN accounts d ON d.id = t.debit_account_id LEFT JOIN accounts c ON c.id = t.credit_account_id
      WHERE d.project_id IS DISTINCT FROM t.project_id OR c.project_id IS DISTINCT FROM t.project_id
        OR (t.kind, d.kind, c.kind) NOT IN (
          ('issue', 'issuance', 'inventory'), ('purchase', 'inventory', 'buyer'),
          ('retirement_hold', 'buyer', 'retiring'), ('retirement_settle', 'retiring', 'retired'),
          ('retirement_return', 'retiring', 'buyer'), ('credit_transfer', 'buyer', 'buyer'))`,
    // A purchase or a credit transfer has no row except its transfer. Its idempotency key has the hash of the
    // request: a purchase's is with or without a price, a credit transfer's with or without a memo.
    `SELECT format('purchase %s of %s t of project %s by "%s" is not what was asked for under the key "%s"',
        t.id, t.amount_tonnes, t.project_id, a.owner_id, k.key) AS message
      FROM transfers t
      JOIN idempotency_keys k ON k.target_id = t.id
      LEFT JOIN ${ACCOUNTS} a ON a.id = t.credit_account_id
      LEFT JOIN ${PROJECTS} p ON p.id = t.project_id
      WHERE t.kind = 'purchase'
        AND k.input_hash <> ${hashOf(`concat('[["amountCO2e","bigint","', t.amount_tonnes, '"],["buyerId","string",', a.owner,
          '],["tokenAddress","string",', p.token, ']]')`)}
        AND k.input_hash <> ${hashOf(`concat('[["amount","string","', trim_scale(t.price_per_tonne), '"],["amountCO2e","bigint","', t.amount_tonnes,
          '"],["buyerId","string",', a.owner, '],["currency","string","', t.price_currency,
          '"],["tokenAddress","string",', p.token, ']]')`)}`,
    `SELECT format('credit transfer %s of %s t of project %s from "%s" to "%s" is not what was asked for under the key "%s"',
        t.id, t.amount_tonnes, t.project_id, d.owner_id, c.owner_id, k.key) AS message
      FROM transfers t
      JOIN idempotency_keys k ON k.target_id = t.id
      LEFT JOIN ${ACCOUNTS} d ON d.id = t.debit_account_id
      LEFT JOIN ${ACCOUNTS} c ON c.id = t.credit_account_id
      LEFT JOIN ${PROJECTS} p ON p.id = t.project_id
      WHERE t.kind = 'credit_transfer'
        AND k.input_hash <> ${hashOf(`concat('[["amountCO2e","bigint","', t.amount_tonnes, '"],["fromBuyerId","string",', d.owner,
          '],', '["memo","string",' || to_json(t.memo) || '],', '["toBuyerId","string",', c.owner,
          '],["tokenAddress","string",', p.token, ']]')`)}`,
    `SELECT format('retirement %s of %s t of project %s by "%s" has a %s of %s t of project %s, account of "%s"',
        t.cause_id, r.amount_tonnes, r.project_id, r.buyer_id, t.kind, t.amount_tonnes, t.project_id, a.owner_id) AS message
      FROM transfers t
      LEFT JOIN retirements r ON r.id = t.cause_id
      LEFT JOIN accounts a
        ON a.id = CASE t.kind WHEN 'retirement_hold' THEN t.debit_account_id ELSE t.credit_account_id END
      WHERE t.kind IN ('retirement_hold', 'retirement_settle', 'retirement_return')
        AND ((r.project_id, r.amount_tonnes) IS DISTINCT FROM (t.project_id, t.amount_tonnes)
          OR (t.kind <> 'retirement_settle' AND a.owner_id IS DISTINCT FROM r.buyer_id))`,
    `SELECT format('project %s (%s) of %s t is booked as issue %s of %s t', coalesce(p.id, t.cause_id),
        coalesce(p.state::text, 'missing'), p.quantity_tonnes, t.id, t.amount_tonnes) AS message
      FROM (SELECT * FROM projects WHERE state = 'OPEN') AS p
      FULL JOIN (SELECT * FROM transfers WHERE kind = 'issue') AS t ON t.cause_id = p.id
      WHERE (p.id, p.quantity_tonnes) IS DISTINCT FROM (t.project_id, t.amount_tonnes)`,
    // Any of the project's prices is accepted: times of the instances' clocks don't prove which one was in
    // force.
    {
      query: boughtAtNoPrice('purchases u'),
      // Purchases that did not change may contradict a changed price.
      incremental: {
        query: `${boughtAtNoPrice('changed_transfers u')} UNION ${boughtAtNoPrice(
          'purchases u JOIN (SELECT DISTINCT project_id FROM changed_project_prices) AS c USING (project_id)',
        )}`,
      },
    },
    `SELECT format('project %s has %s prices, the last of which is number %s', project_id, count(*), max(number)) AS message
      FROM project_prices GROUP BY project_id HAVING count(*) <> max(number) OR min(number) <> 1`,
    `SELECT format('the first price of project %s was set by "%s", its developer is "%s"', p.id, f.set_by, p.developer_id) AS message
      FROM project_prices f JOIN projects p ON p.id = f.id WHERE f.set_by <> p.developer_id`,
  ],
});

/** Only purchases have a price. */
function boughtAtNoPrice(from: string): string {
  return `SELECT format('purchase %s is at %s %s a tonne, which its project %s never cost', u.id, u.price_per_tonne,
        u.price_currency, u.project_id) AS message
      FROM ${from}
      WHERE u.price_per_tonne IS NOT NULL AND NOT EXISTS (SELECT 1 FROM project_prices p WHERE p.project_id = u.project_id
        AND (p.price_per_tonne, p.price_currency) = (u.price_per_tonne, u.price_currency))`;
}
