/**
 * Contradictions in the feed's order, in its totals, and in the transactions that its records name.
 * compareRecords.ts compares the facts of each record with the network's.
 */
import { aboutRowsOf, contradictions } from './contradiction.ts';

export const FEED_CONTRADICTIONS = contradictions({
  I10: [
    {
      query: `SELECT format('token %s has %s feed records from index %s to %s', token_address, count(*), min(index), max(index)) AS message
      FROM retirement_records GROUP BY token_address HAVING count(*) <> max(index) + 1 OR min(index) <> 0`,
      incremental: {
        query: `SELECT format('record %s of token %s has none before it', r.index, r.token_address) AS message
      FROM changed_retirement_records r
      WHERE r.index <> 0 AND NOT EXISTS (SELECT 1 FROM retirement_records before
        WHERE before.token_address = r.token_address AND before.index = r.index - 1)`,
      },
    },
    {
      query: `SELECT format('the feed has %s records at positions %s to %s, and its head is %s', count(r.*), min(r.position),
        max(r.position), h.head) AS message
      FROM (SELECT max(position) AS head FROM feed_head) AS h LEFT JOIN retirement_records r ON true
      GROUP BY h.head
      HAVING coalesce(h.head, -1) <> count(r.*)
        OR min(r.position) <> 1 OR max(r.position) <> count(r.*)`,
      incremental: {
        query: `SELECT format('the feed has no record at position %s, and its head is %s', missing.position, h.head) AS message
      FROM (SELECT coalesce(max(position), -1) AS head FROM feed_head) AS h
      CROSS JOIN LATERAL (SELECT h.head + CASE WHEN last.position > h.head THEN 1 ELSE 0 END AS position
          FROM (SELECT coalesce(max(position), 0) AS position FROM retirement_records) AS last WHERE last.position <> h.head
        UNION ALL SELECT r.position - 1 FROM changed_retirement_records r
          WHERE r.position <> 1 AND NOT EXISTS (SELECT 1 FROM retirement_records before
            WHERE before.position = r.position - 1)) AS missing`,
      },
    },
    `SELECT format('record %s of token %s is kept for project %s, whose token is %s', r.index, r.token_address,
        r.project_id, coalesce(p.token_address, 'missing')) AS message
      FROM retirement_records r LEFT JOIN projects p ON p.id = r.project_id
      WHERE p.token_address IS DISTINCT FROM r.token_address`,
    {
      query: `SELECT format('record %s of token %s comes after record %s in the feed', r.index, r.token_address, r.later) AS message
      FROM (SELECT *, max(index) OVER (PARTITION BY token_address ORDER BY position) AS later FROM retirement_records) AS r
      WHERE r.later > r.index`,
      incremental: {
        query: `SELECT format('record %s of token %s comes after record %s in the feed', r.index, r.token_address, other.index) AS message
      FROM changed_retirement_records r JOIN retirement_records other
        ON other.token_address = r.token_address AND other.index IN (r.index - 1, r.index + 1)
      WHERE (other.position <= r.position) <> (other.index < r.index)`,
      },
    },
    // An unknown hash is null, which never differs.
    `SELECT format('record %s of token %s names transaction %s, which is %s of its retirement', f.index,
        f.token_address, f.tx_hash, coalesce(r.tx_hash, s.tx_hash)) AS message
      FROM retirement_records f
      LEFT JOIN retirements r ON r.project_id = f.project_id AND r.record_index = f.index
      LEFT JOIN holder_acts h ON h.project_id = f.project_id AND h.record_index = f.index
      LEFT JOIN submissions s ON s.id = h.submission_id
      WHERE f.tx_hash <> coalesce(r.tx_hash, s.tx_hash)`,
    // A record that is noted as claimed is not examined as the record of an unknown burn.
    aboutRowsOf(
      'retirement_records',
      `SELECT format('record %s of token %s is noted as claimed, and no retirement claims it', f.index, f.token_address) AS message
      FROM retirement_records f
      WHERE f.is_claimed AND NOT EXISTS (SELECT 1 FROM retirements r WHERE r.project_id = f.project_id AND r.record_index = f.index)`,
    ),
    {
      query: compareTotals({
        cells: `SELECT project_id, timestamp / 86400 AS day, sum(amount_base_units) AS amount_base_units,
          count(*) AS retirements FROM retirement_records GROUP BY 1, 2`,
        kept: 'true',
      }),
      // Compares all cells of the days on which something changed, and the totals of projects, summed from
      // their days.
      incremental: {
        query: compareTotals({
          days: `SELECT timestamp / 86400 AS day FROM changed_retirement_records
          UNION SELECT day FROM changed_retirement_totals WHERE day IS NOT NULL`,
          cells: `SELECT r.project_id, d.day, sum(r.amount_base_units) AS amount_base_units, count(*) AS retirements
          FROM days d JOIN retirement_records r ON r.timestamp >= d.day * 86400 AND r.timestamp < (d.day + 1) * 86400 GROUP BY 1, 2
          UNION ALL SELECT project_id, day, amount_base_units, retirements FROM retirement_totals
          WHERE project_id IS NOT NULL AND day IS NOT NULL AND day NOT IN (SELECT day FROM days)`,
          kept: '(day IS NULL OR day IN (SELECT day FROM days))',
        }),
      },
    },
  ],
});

/**
 * @param totals.cells a query of the sums of a project's records by day
 * @param totals.kept a condition for the compared rows of the totals
 */
function compareTotals({ days, cells, kept }: { days?: string; cells: string; kept: string }): string {
  return `WITH ${days === undefined ? '' : `days AS (${days}), `}cells AS (${cells}), expected AS (
        SELECT c.project_id, p.country_code, p.vintage_year, c.day,
          sum(c.amount_base_units) AS amount_base_units, sum(c.retirements) AS retirements
        FROM cells c JOIN projects p ON p.id = c.project_id
        GROUP BY GROUPING SETS ((c.project_id), (c.project_id, c.day), (p.country_code, c.day), (p.vintage_year, c.day), (c.day))
      )
      SELECT format('the totals of project %s, country %s, vintage %s, day %s miss %s base units in %s retirements',
        coalesce(project_id::text, 'any'), coalesce(country_code, 'any'), coalesce(vintage_year::text, 'any'),
        coalesce(day::text, 'any'), sum(amount_base_units), sum(retirements)) AS message
      FROM (SELECT * FROM expected WHERE ${kept}
        UNION ALL SELECT project_id, country_code, vintage_year, day, -amount_base_units, -retirements FROM retirement_totals
        WHERE ${kept}) AS compared
      GROUP BY project_id, country_code, vintage_year, day
      HAVING sum(amount_base_units) <> 0 OR sum(retirements) <> 0`;
}
