/**
 * Contradictions between the leaves of the transparency logs and the rows that they hash. reconcileLogs.ts
 * compares the leaves with the signed heads.
 */
import { CURRENT_DATABASE } from '../../db/currentDatabase.ts';
import {
  BEGUN_ENTRY_LEAF,
  ENTRY_HASH,
  hashOfLeaf,
  RELATED_TO_TRANSFER,
  RECORD_LEAF,
  TRANSFER_LEAF,
  type LogName,
} from '../../transparency/leaves.ts';
import { HASH_BYTES, TILE_WIDTH } from '../../transparency/merkle.ts';
import { IS_NEXT_TRANSFER } from '../../transparency/nextTransfers.ts';
import { aboutRowsOf, contradictions, type Rule } from './contradiction.ts';

const ALL_TILES = 'transparency_tiles';
const CHANGED_TILES = 'changed_transparency_tiles';

const hashAt = (place: string) =>
  `substring(whole.hashes FROM ${HASH_BYTES} * (${place})::int + 1 FOR ${HASH_BYTES})`;
/**
 * Keeps the tile's hashes in memory: reading them from their own table for each leaf would double the run
 * time of the query.
 */
const WHOLE = `CROSS JOIN LATERAL (SELECT tile.hashes || ''::bytea AS hashes OFFSET 0) AS whole`;

/** The leaves of a log whose tiles name their rows. */
function leavesOf(log: LogName, tiles: string, condition = 'true'): string {
  return `(SELECT l.id, ${hashAt('l.place - 1')} AS hash FROM ${tiles} tile ${WHOLE}
    CROSS JOIN LATERAL unnest(tile.row_ids) WITH ORDINALITY AS l (id, place)
    WHERE tile.log = '${log}' AND tile.level = 0 AND ${condition})`;
}

/**
 * Finds rows that have no leaf with their hash.
 * @param rows selects id and hash of the rows that have to be in the log, from a table or from its changed
 *   rows
 */
function withoutLeaf(log: LogName, noun: string, rows: (prefix: '' | 'changed_') => string): Rule {
  const message = `format('${noun} %s is not in the transparency log as it is now', found.id) AS message`;
  const lacks = (leaves: string) =>
    `NOT EXISTS (SELECT 1 FROM ${leaves} AS leaf WHERE leaf.id = found.id AND leaf.hash = found.hash)`;
  return {
    // Materialized: a join would compute each row's hash twice.
    query: `WITH found AS MATERIALIZED (${rows('')}) SELECT ${message} FROM found WHERE ${lacks(leavesOf(log, ALL_TILES))}`,
    // Rows inserted since the snapshot are in tiles that changed since. All other tiles are read only if a
    // row is in none of those.
    incremental: {
      query: `WITH found AS MATERIALIZED (${rows('changed_')}),
        strange AS MATERIALIZED (SELECT * FROM found WHERE ${lacks(leavesOf(log, CHANGED_TILES))})
      SELECT ${message} FROM strange AS found WHERE ${lacks(leavesOf(log, ALL_TILES, 'EXISTS (SELECT 1 FROM strange)'))}`,
    },
  };
}

/** The transfer t has changed, or the row that it is about. */
const HAS_CHANGED = `t.id IN (SELECT id FROM changed_transfers UNION SELECT o.id FROM (
    SELECT id FROM changed_projects UNION SELECT id FROM changed_retirements) AS changed
  JOIN transfers o ON o.cause_id = changed.id AND o.kind IN ('issue', 'retirement_hold'))`;

/**
 * Without the transfers that the log can't have yet, which are beyond its end and written by transactions of
 * this database.
 */
const LOGGED_TRANSFERS = (prefix: '' | 'changed_') => `SELECT t.id, ${hashOfLeaf(TRANSFER_LEAF)} AS hash
  FROM (SELECT t.* FROM transfers t CROSS JOIN transparency_heads h
    WHERE ${prefix === '' ? 'true' : HAS_CHANGED} AND h.log = 'transfers' AND h.database = ${CURRENT_DATABASE}
      AND NOT (${IS_NEXT_TRANSFER})) AS t
  ${RELATED_TO_TRANSFER}`;

const LOGGED_ENTRIES = (prefix: string) => `SELECT e.id,
    CASE WHEN o.entry_id IS NULL THEN ${ENTRY_HASH} ELSE ${hashOfLeaf(BEGUN_ENTRY_LEAF)} END AS hash
  FROM ${prefix}audit_entries e
  JOIN transparency_audit_writers w ON w.writer_id = e.writer_id AND e.number <= w.number
  LEFT JOIN transparency_open_entries o ON o.entry_id = e.id`;

/** A record's leaf is at its position. */
const records = (
  from: string,
) => `SELECT format('leaf %s of the transparency log of retirements is not the record at position %s',
    leaf.position - 1, leaf.position) AS message
  FROM (${from}) AS leaf LEFT JOIN retirement_records r ON r.position = leaf.position
  WHERE ${hashOfLeaf(RECORD_LEAF)} IS DISTINCT FROM leaf.hash`;
const recordLeaves = (
  tiles: string,
) => `SELECT tile.index * ${TILE_WIDTH} + place + 1 AS position, ${hashAt('place')} AS hash
  FROM ${tiles} tile ${WHOLE} CROSS JOIN LATERAL generate_series(0, octet_length(whole.hashes) / ${HASH_BYTES} - 1) AS place
  WHERE tile.log = 'retirements' AND tile.level = 0`;

export const TRANSPARENCY_CONTRADICTIONS = contradictions({
  I15: [
    {
      query: records(recordLeaves(ALL_TILES)),
      incremental: {
        query: `${records(recordLeaves(CHANGED_TILES))} UNION ${records(`
        SELECT c.position, ${hashAt(`(c.position - 1) % ${TILE_WIDTH}`)} AS hash FROM changed_retirement_records c
        JOIN transparency_heads h ON h.log = 'retirements' AND c.position BETWEEN 1 AND h.size
        JOIN transparency_tiles tile ON tile.log = 'retirements' AND tile.level = 0 AND tile.index = (c.position - 1) / ${TILE_WIDTH}
        ${WHOLE}`)}`,
      },
    },
    withoutLeaf('transfers', 'transfer', LOGGED_TRANSFERS),
    aboutRowsOf(
      'transparency_tiles',
      `SELECT format('transfer %s is in the transparency log, and missing in the books', leaf.id) AS message
      FROM ${leavesOf('transfers', ALL_TILES)} AS leaf
      WHERE NOT EXISTS (SELECT 1 FROM transfers t WHERE t.id = leaf.id)`,
    ),
    withoutLeaf('audit', 'audit entry', LOGGED_ENTRIES),
    // Pruned entries are in the operator's files.
    {
      query: `SELECT format('%s audit entries are in the transparency log and no longer in the table, and %s are pruned', missing.entries,
        pruned.entries) AS message
      FROM (SELECT count(DISTINCT leaf.id) AS entries FROM ${leavesOf('audit', ALL_TILES)} AS leaf
        WHERE NOT EXISTS (SELECT 1 FROM audit_entries e WHERE e.id = leaf.id)) AS missing
      CROSS JOIN (SELECT coalesce(sum(pruned), 0) AS entries FROM audit_writers) AS pruned
      WHERE missing.entries <> pruned.entries`,
      // A deletion changes no other row.
      incremental: { query: `SELECT NULL::text AS message WHERE false` },
    },
  ],
});
