/**
 * Contradictions in the feed's order, in its totals, and in the transactions that its records name. compareRecords.ts compares each
 * record's facts with the network's.
 */
import type { Contradiction } from './contradiction.ts';

export const FEED_CONTRADICTIONS: readonly Contradiction[] = [
  {
    invariant: 'I10',
    query: `SELECT format('token %s has %s feed records from index %s to %s', token_address, count(*), min(index), max(index)) AS message
      FROM retirement_records GROUP BY token_address HAVING count(*) <> max(index) + 1 OR min(index) <> 0`,
  },
  {
    invariant: 'I10',
    query: `SELECT format('the feed has %s records at positions %s to %s, and its head is %s', count(r.*), min(r.position),
        max(r.position), h.head) AS message
      FROM (SELECT max(position) AS head FROM feed_head) AS h LEFT JOIN retirement_records r ON true
      GROUP BY h.head
      HAVING coalesce(h.head, -1) <> count(r.*)
        OR (count(r.*) > 0 AND (min(r.position) <> 1 OR max(r.position) <> count(r.*)))`,
  },
  {
    invariant: 'I10',
    query: `SELECT format('record %s of token %s is kept for project %s, whose token is %s', r.index, r.token_address,
        r.project_id, coalesce(p.token_address, 'missing')) AS message
      FROM retirement_records r LEFT JOIN projects p ON p.id = r.project_id
      WHERE p.token_address IS DISTINCT FROM r.token_address`,
  },
  {
    invariant: 'I10',
    query: `SELECT format('record %s of token %s comes after record %s in the feed', r.index, r.token_address, r.later) AS message
      FROM (SELECT *, max(index) OVER (PARTITION BY token_address ORDER BY position) AS later FROM retirement_records) AS r
      WHERE r.later > r.index`,
  },
  {
    // A hash that is not known yet is null.
    invariant: 'I10',
    query: `SELECT format('record %s of token %s names transaction %s, which is %s of its retirement', f.index,
        f.token_address, f.tx_hash, coalesce(r.tx_hash, h.record_tx_hash)) AS message
      FROM retirement_records f
      LEFT JOIN retirements r ON r.project_id = f.project_id AND r.record_index = f.index
      LEFT JOIN holder_acts h ON h.project_id = f.project_id AND h.record_index = f.index
      WHERE f.tx_hash <> coalesce(r.tx_hash, h.record_tx_hash)`,
  },
  {
    invariant: 'I10',
    query: `WITH cells AS (
        SELECT project_id, timestamp / 86400 AS day, sum(amount) AS amount, count(*) AS retirements
        FROM retirement_records GROUP BY 1, 2
      ), expected AS (
        SELECT c.project_id, p.country_code, p.vintage_year, c.day, sum(c.amount) AS amount, sum(c.retirements) AS retirements
        FROM cells c JOIN projects p ON p.id = c.project_id
        GROUP BY GROUPING SETS ((c.project_id), (c.project_id, c.day), (p.country_code, c.day), (p.vintage_year, c.day), (c.day))
      )
      SELECT format('the totals of project %s, country %s, vintage %s, day %s miss %s base units in %s retirements',
        coalesce(project_id::text, 'any'), coalesce(country_code, 'any'), coalesce(vintage_year::text, 'any'),
        coalesce(day::text, 'any'), sum(amount), sum(retirements)) AS message
      FROM (SELECT * FROM expected
        UNION ALL SELECT project_id, country_code, vintage_year, day, -amount, -retirements FROM retirement_totals) AS compared
      GROUP BY project_id, country_code, vintage_year, day
      HAVING sum(amount) <> 0 OR sum(retirements) <> 0`,
  },
];
