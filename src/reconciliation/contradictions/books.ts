/**
 * Contradictions within the books: transfers, which are entries of two accounts each, and the accounts that they move.
 */
import type { Contradiction } from './contradiction.ts';

export const BOOKS_CONTRADICTIONS: readonly Contradiction[] = [
  {
    invariant: 'I1',
    query: `SELECT format('project %s sums to %s, not zero', project_id, sum(balance)) AS message
      FROM accounts GROUP BY project_id HAVING sum(balance) <> 0`,
    incremental: 'WHOLE',
  },
  {
    invariant: 'I1',
    query: `SELECT format('account %s (%s) has a balance of %s', id, kind, balance) AS message
      FROM accounts WHERE balance < 0 AND kind <> 'issuance'`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('account %s has a balance of %s at version %s, its %s entries sum to %s',
        a.id, a.balance, a.version, count(e.version), coalesce(sum(e.amount), 0)) AS message
      FROM accounts a LEFT JOIN entries e ON e.account_id = a.id
      GROUP BY a.id HAVING a.balance <> coalesce(sum(e.amount), 0) OR a.version <> count(e.version)`,
    incremental: {
      query: `SELECT format('account %s has a balance of %s at version %s, its last entry is number %s with %s',
        a.id, a.balance, a.version, coalesce(e.version, 0), coalesce(e.balance_after, 0)) AS message
      FROM accounts a
      LEFT JOIN LATERAL (SELECT version, balance_after FROM entries WHERE account_id = a.id
        ORDER BY version DESC LIMIT 1) AS e ON true
      WHERE (a.balance, a.version) IS DISTINCT FROM (coalesce(e.balance_after, 0), coalesce(e.version, 0))
        AND a.id IN (SELECT id FROM changed_accounts
          UNION SELECT debit_account_id FROM changed_transfers UNION SELECT credit_account_id FROM changed_transfers)`,
    },
  },
  {
    invariant: 'I1',
    query: `SELECT format('entry %s of account %s goes from %s by %s to %s, after %s entries that end at %s',
        version, account_id, balance_before, amount, balance_after, place - 1, ends_at) AS message
      FROM (SELECT *, row_number() OVER history AS place, lag(balance_after, 1, 0::bigint) OVER history AS ends_at
        FROM entries WINDOW history AS (PARTITION BY account_id ORDER BY version)) AS e
      WHERE version <> place OR balance_before <> ends_at OR balance_after <> balance_before + amount`,
    incremental: {
      query: `SELECT format('entry %s of account %s goes from %s by %s to %s, between entries that end at %s and begin at %s',
        e.version, e.account_id, e.balance_after - e.amount, e.amount, e.balance_after,
        before.balance_after, after.balance_before) AS message
      FROM (SELECT side.* FROM changed_transfers t CROSS JOIN LATERAL (VALUES
          (t.debit_account_id, t.debit_version, -t.amount, t.debit_balance),
          (t.credit_account_id, t.credit_version, t.amount, t.credit_balance)) AS side (account_id, version, amount, balance_after)) AS e
      LEFT JOIN entries before ON before.account_id = e.account_id AND before.version = e.version - 1
      LEFT JOIN entries after ON after.account_id = e.account_id AND after.version = e.version + 1
      WHERE e.version < 1 OR (e.version = 1) <> (before.version IS NULL)
        OR coalesce(before.balance_after, 0) <> e.balance_after - e.amount OR after.balance_before <> e.balance_after
        OR (SELECT count(*) FROM entries same WHERE same.account_id = e.account_id AND same.version = e.version) <> 1`,
    },
  },
  {
    invariant: 'I1',
    query: `SELECT format('account %s is a %s of owner "%s"', id, kind, owner_id) AS message
      FROM accounts WHERE (kind = 'buyer') <> (owner_id <> '')`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('transfer %s is entry %s of account %s, which is missing', e.transfer_id, e.version, e.account_id) AS message
      FROM entries e LEFT JOIN accounts a ON a.id = e.account_id
      WHERE a.id IS NULL`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('transfer %s moves %s t from account %s to account %s', id, amount, debit_account_id, credit_account_id) AS message
      FROM transfers WHERE amount <= 0 OR debit_account_id = credit_account_id`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('entry %s of account %s (%s) leaves a balance of %s', e.version, a.id, a.kind, e.balance_after) AS message
      FROM entries e JOIN accounts a ON a.id = e.account_id
      WHERE CASE WHEN a.kind = 'issuance' THEN e.balance_after > 0 ELSE e.balance_after < 0 END`,
  },
  {
    invariant: 'I1',
    query: `SELECT format('account %s belongs to project %s, which is missing', a.id, a.project_id) AS message
      FROM accounts a LEFT JOIN projects p ON p.id = a.project_id WHERE p.id IS NULL`,
    incremental: 'WHOLE',
  },
];
