/**
 * Contradictions within the books: between transfers, which are entries of two accounts each, and the
 * accounts. With the queries of rows.ts and postings.ts, a project's balances sum to zero, and none is
 * negative that must not be: each is the sum of its entries.
 */
import { contradictions } from './contradiction.ts';

export const BOOKS_CONTRADICTIONS = contradictions({
  I1: [
    {
      query: `SELECT format('account %s has a balance of %s at version %s, its %s entries sum to %s',
        a.id, a.balance_tonnes, a.version, count(e.version), coalesce(sum(e.amount_tonnes), 0)) AS message
      FROM accounts a LEFT JOIN entries e ON e.account_id = a.id
      GROUP BY a.id HAVING a.balance_tonnes <> coalesce(sum(e.amount_tonnes), 0) OR a.version <> count(e.version)`,
      incremental: {
        query: `SELECT format('account %s has a balance of %s at version %s, its last entry is number %s with %s',
        a.id, a.balance_tonnes, a.version, coalesce(e.version, 0), coalesce(e.balance_after_tonnes, 0)) AS message
      FROM accounts a
      LEFT JOIN LATERAL (SELECT version, balance_after_tonnes FROM entries WHERE account_id = a.id
        ORDER BY version DESC LIMIT 1) AS e ON true
      WHERE (a.balance_tonnes, a.version) IS DISTINCT FROM (coalesce(e.balance_after_tonnes, 0), coalesce(e.version, 0))
        AND a.id IN (SELECT id FROM changed_accounts
          UNION SELECT debit_account_id FROM changed_transfers UNION SELECT credit_account_id FROM changed_transfers)`,
      },
    },
    {
      query: brokenHistories('(SELECT *, 1 AS first FROM entries) AS entries'),
      // Compares the entries from before the first changed one to after the last, which have to fit into the
      // rest of the history. They are read by index, account by account, because the planner would read all
      // entries. A missing number leaves a gap in the whole history.
      incremental: {
        query: brokenHistories(`(SELECT e.*, c.first
        FROM (SELECT account_id, min(version) - 1 AS first, max(version) + 1 AS last
          FROM changed_transfers t CROSS JOIN LATERAL (VALUES
            (debit_account_id, coalesce(debit_version, 0)), (credit_account_id, coalesce(credit_version, 0))) AS side (account_id, version)
          GROUP BY account_id) AS c
        CROSS JOIN LATERAL (SELECT * FROM entries
          WHERE account_id = c.account_id AND version BETWEEN c.first AND c.last OFFSET 0) AS e) AS changed`),
      },
    },
  ],
});

/** @param from a query of entries, with the version at which their account's part of the history begins */
function brokenHistories(from: string): string {
  return `SELECT format('entry %s of account %s goes from %s by %s to %s, after %s entries that end at %s',
        version, account_id, balance_before_tonnes, amount_tonnes, balance_after_tonnes, place - 1, ends_at) AS message
      FROM (SELECT *, greatest(first, 1) - 1 + row_number() OVER history AS place,
          lag(balance_after_tonnes, 1, 0::bigint) OVER history AS ends_at
        FROM ${from} WINDOW history AS (PARTITION BY account_id ORDER BY version)) AS e
      WHERE version <> place
        OR (balance_before_tonnes <> ends_at AND (first <= 1 OR version > first))`;
}
