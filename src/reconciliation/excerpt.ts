/**
 * The rows that an incremental reconciliation compares: the rows that changed since a snapshot, and all rows
 * that belong to the same subject (a retirement's transfers, submission, attempts, key, record and project,
 * for example).
 *
 * A snapshot is the id of a transaction, before which all transactions are over. Every row carries the id of
 * the transaction that wrote it (`xmin`), whichever program that was. So the rows written from that id on are
 * exactly the rows inserted or changed since. Deletions are not seen.
 *
 * The excerpt is in temporary tables with the names of the real ones, which they hide for the rest of the
 * transaction, so that the same queries run on the excerpt.
 */
import { sql } from 'drizzle-orm';
import { CURRENT_DATABASE } from '../db/currentDatabase.ts';
import type { Db, Tx } from '../db/connection.ts';
import { OPEN_OFF_RAMP_STATES } from '../db/tables/index.ts';
import { MANUAL_PROVIDER } from '../ramp/providerName.ts';
import { MAX_OUTCOMES } from './reconcileAttempts.ts';

export interface Snapshot {
  database: string;
  /** All transactions before this one are over. */
  transaction: string;
}

/** Rows that changed, for the comparisons outside of the database. */
export interface ChangedRows {
  /**
   * By project id, the index of the first of its token's records to be read again; null when no record has
   * changed.
   */
  projects: ReadonlyMap<string, number | null>;
  receiptIds: readonly string[];
  offRampSessionIds: readonly string[];
  submissionIds: readonly string[];
}

/** Maximum changed rows. More take about as long as a full comparison. */
const MAX_ROWS = 200_000;
/**
 * PostgreSQL samples 300 rows of a table for each unit: enough for its size and its commonest values, and a
 * tenth of the default.
 */
const STATISTICS_TARGET = 10;
/** Transaction ids are compared in a circle of 2^32; a snapshot half a circle ago would be in the future. */
const MAX_AGE = 1_500_000_000;

const isTouched = (column: string) => `${column} IN (SELECT id FROM touched)`;

/** Read before any comparison, so that the next run compares what changes during this one. */
export async function readSnapshot(db: Pick<Db, 'execute'>): Promise<Snapshot> {
  const [row] = await db.execute<{ database: string; transaction: string }>(sql`
    SELECT ${sql.raw(CURRENT_DATABASE)} AS database, pg_snapshot_xmin(pg_current_snapshot())::text AS transaction`);
  if (!row) throw new Error('a query of values has one row');
  return row;
}

/**
 * Copies the rows that changed since the snapshot into temporary tables, `changed_…`, and the ids of their
 * subjects into `touched`.
 * @returns false when the snapshot is of another database or too old, or too much has changed: everything has
 *   to be compared then
 */
export async function collectChanges(tx: Tx, snapshot: Snapshot): Promise<boolean> {
  const [row] = await tx.execute<{ database: string; ahead: string; age: number }>(sql`
    SELECT ${sql.raw(CURRENT_DATABASE)} AS database, age(${snapshot.transaction}::xid8::xid) AS age,
      (pg_snapshot_xmax(pg_current_snapshot())::text::numeric - ${snapshot.transaction}::numeric)::text AS ahead`);
  const ahead = Number(row?.ahead ?? -1);
  if (!row || row.database !== snapshot.database || ahead < 0 || ahead > MAX_AGE) return false;
  await run(tx, [
    `SET LOCAL default_statistics_target = ${STATISTICS_TARGET}`,
    ...CHANGING_TABLES.flatMap((table) => [
      `CREATE TEMPORARY TABLE changed_${table} ON COMMIT DROP AS
        SELECT t.* FROM ${table} t WHERE age(t.xmin) BETWEEN 0 AND ${row.age}`,
      `ANALYZE changed_${table}`,
    ]),
    'CREATE TEMPORARY TABLE touched (id uuid NOT NULL) ON COMMIT DROP',
    ...touch(CHANGED_ROWS),
  ]);
  const [count] = await tx.execute<{ rows: number }>(sql`SELECT count(*)::int AS rows FROM touched`);
  return count !== undefined && count.rows <= MAX_ROWS;
}

/** Makes the excerpt of the changed rows, and hides the real tables behind it. */
export async function makeExcerpt(tx: Tx): Promise<ChangedRows> {
  const views = await tx.execute<{ name: string; definition: string }>(sql`
    SELECT name, pg_get_viewdef(name::regclass) AS definition FROM unnest(ARRAY['entries', 'purchases']) AS name`);
  await run(tx, [
    ...RELATED_ROWS.flatMap(touch),
    ...EXCERPTS.flatMap(([table, rows]) => [
      `CREATE TEMPORARY TABLE excerpt_${table} ON COMMIT DROP AS ${rows}`,
      // Queries that group by the id name further columns, which needs a primary key.
      ...(HAVE_IDS.has(table) ? [`ALTER TABLE excerpt_${table} ADD PRIMARY KEY (id)`] : []),
      `ANALYZE excerpt_${table}`,
    ]),
  ]);
  const changed = await readChanged(tx);
  await run(tx, [
    ...EXCERPTS.map(([table]) => `ALTER TABLE pg_temp.excerpt_${table} RENAME TO ${table}`),
    // The real views would still show the real tables. The temporary views end with their tables.
    ...views.map(({ name, definition }) => `CREATE TEMPORARY VIEW ${name} AS ${definition}`),
  ]);
  return changed;
}

function touch(queries: readonly string[]): string[] {
  return [
    `INSERT INTO touched SELECT id FROM (${queries.join(' UNION ')}) AS found (id)
      WHERE id IS NOT NULL EXCEPT SELECT id FROM touched`,
    'ANALYZE touched',
  ];
}

/** One round trip. */
function run(tx: Tx, statements: readonly string[]) {
  return tx.execute(sql.raw(statements.map((statement) => statement.replace(/;\s*$/, '')).join(';\n')));
}

/** Every table whose rows change, and the tables that count such rows. */
export const CHANGING_TABLES = [
  'accounts',
  'api_keys',
  'approval_requests',
  'attempts',
  'audit_entries',
  'holder_acts',
  'idempotency_keys',
  'manual_ramp_sessions',
  'manual_ramp_statuses',
  'off_ramp_provider_statuses',
  'off_ramp_reviews',
  'off_ramp_sessions',
  'project_prices',
  'projects',
  'receipt_pledges',
  'receipts',
  'retirement_records',
  'retirement_totals',
  'retirements',
  'settlement_deployments',
  'submissions',
  'transfers',
  'transparency_tiles',
] as const;

export type ChangingTable = (typeof CHANGING_TABLES)[number];

/** The tables of the subjects. */
const MAIN_TABLES = [
  'projects',
  'project_prices',
  'retirements',
  'receipts',
  'receipt_pledges',
  'off_ramp_sessions',
  'holder_acts',
  'api_keys',
  'settlement_deployments',
];

/** Changed rows, and calls under way: each run compares what the calls can still change. */
const CHANGED_ROWS: readonly string[] = [
  // A request for approval has the id of the row that it would create.
  ...[...MAIN_TABLES, 'transfers', 'approval_requests'].map((table) => `SELECT id FROM changed_${table}`),
  'SELECT cause_id FROM changed_transfers',
  'SELECT project_id FROM changed_transfers',
  'SELECT project_id FROM changed_retirement_records',
  `SELECT r.id FROM changed_retirement_records f JOIN retirements r ON r.project_id = f.project_id AND r.record_index = f.index`,
  `SELECT h.id FROM changed_retirement_records f JOIN holder_acts h ON h.project_id = f.project_id AND h.record_index = f.index`,
  'SELECT project_id FROM changed_accounts',
  `SELECT e.cause_id FROM changed_accounts t CROSS JOIN LATERAL (
      SELECT cause_id FROM entries WHERE account_id = t.id ORDER BY version DESC LIMIT 1) AS e`,
  'SELECT target_id FROM changed_submissions',
  `SELECT target_id FROM submissions WHERE state = 'PENDING' UNION ALL SELECT target_id FROM submissions WHERE state = 'NEEDS_REVIEW'`,
  `SELECT s.target_id FROM changed_attempts t JOIN submissions s ON s.id = t.submission_id`,
  'SELECT target_id FROM changed_idempotency_keys',
  'SELECT project_id FROM changed_project_prices',
  'SELECT s.id FROM changed_manual_ramp_sessions m JOIN off_ramp_sessions s ON s.id::text = m.reference',
  `SELECT s.id FROM changed_manual_ramp_statuses m
    JOIN off_ramp_sessions s ON (s.provider_name, s.provider_session_id) = ('${MANUAL_PROVIDER}', m.session_id)`,
  `SELECT id FROM off_ramp_sessions WHERE state IN (${OPEN_OFF_RAMP_STATES.map((state) => `'${state}'`).join(', ')})`,
  'SELECT off_ramp_session_id FROM changed_off_ramp_provider_statuses',
  'SELECT off_ramp_session_id FROM changed_off_ramp_reviews',
];

/** The rows that the queries look up from those, in the order in which one leads to the next. */
const RELATED_ROWS: readonly (readonly string[])[] = [
  [`SELECT off_ramp_session_id FROM holder_acts WHERE ${isTouched('id')}`],
  [`SELECT receipt_id FROM off_ramp_sessions WHERE ${isTouched('id')}`],
  [`SELECT id FROM off_ramp_sessions WHERE ${isTouched('receipt_id')}`],
  [`SELECT id FROM holder_acts WHERE ${isTouched('off_ramp_session_id')}`],
  [
    `SELECT project_id FROM transfers WHERE ${isTouched('id')}`,
    `SELECT project_id FROM transfers WHERE kind <> 'purchase' AND ${isTouched('cause_id')}`,
    ...['retirements', 'holder_acts'].map(
      (table) => `SELECT project_id FROM ${table} WHERE ${isTouched('id')}`,
    ),
  ],
  [`SELECT id FROM project_prices WHERE ${isTouched('project_id')}`],
];

const HAVE_IDS: ReadonlySet<string> = new Set([...MAIN_TABLES, 'transfers', 'accounts', 'submissions']);

/** Each excerpt's rows, from the real tables and the excerpts before it. */
const EXCERPTS: readonly [table: string, rows: string][] = [
  ...MAIN_TABLES.map((table): [string, string] => [table, `SELECT * FROM ${table} WHERE ${isTouched('id')}`]),
  [
    'transfers',
    `SELECT * FROM transfers WHERE id IN (SELECT id FROM touched
        UNION SELECT id FROM transfers WHERE kind <> 'purchase' AND ${isTouched('cause_id')})`,
  ],
  [
    'accounts',
    `SELECT * FROM accounts WHERE id IN (SELECT id FROM changed_accounts
        UNION SELECT debit_account_id FROM excerpt_transfers UNION SELECT credit_account_id FROM excerpt_transfers)`,
  ],
  ['submissions', `SELECT * FROM submissions WHERE ${isTouched('target_id')}`],
  [
    'attempts',
    `SELECT * FROM changed_attempts UNION
        SELECT * FROM attempts WHERE submission_id IN (SELECT id FROM excerpt_submissions)`,
  ],
  [
    'retirement_records',
    `SELECT * FROM changed_retirement_records UNION SELECT r.* FROM retirement_records r
        JOIN excerpt_projects p ON p.token_address = r.token_address
        JOIN (SELECT project_id, record_index FROM excerpt_retirements
          UNION SELECT project_id, record_index FROM excerpt_holder_acts) AS c ON c.project_id = p.id AND c.record_index = r.index`,
  ],
  ['idempotency_keys', `SELECT * FROM idempotency_keys WHERE ${isTouched('target_id')}`],
  [
    'manual_ramp_sessions',
    `SELECT * FROM changed_manual_ramp_sessions UNION
        SELECT m.* FROM manual_ramp_sessions m JOIN excerpt_off_ramp_sessions s ON s.id::text = m.reference`,
  ],
];

/**
 * Custody's records that look like a retirement without a record (compareUnclaimed.ts). When such a
 * retirement changes, its state decides whether the records may still be claimed or belong to none, although
 * their own rows do not change. Settled retirements count, because the records may have waited for them. Most
 * records are noted as claimed and are skipped: a beneficiary may have any number of them.
 */
const UNCLAIMED_RECORDS = `SELECT f.project_id, f.index
  FROM (SELECT DISTINCT p.token_address, r.beneficiary, r.note, r.amount_tonnes
    FROM excerpt_retirements r JOIN excerpt_projects p ON p.id = r.project_id) AS r
  JOIN retirement_records f
    ON f.token_address = r.token_address AND f.beneficiary = r.beneficiary AND f.note = r.note
      AND f.amount_base_units = r.amount_tonnes * 10::numeric ^ 18
  WHERE NOT f.is_claimed AND f.retired_by IN (SELECT custody_address FROM installation)
    AND NOT EXISTS (SELECT 1 FROM retirements c WHERE c.project_id = f.project_id AND c.record_index = f.index)`;

/** Called before the excerpt hides the real tables. */
async function readChanged(tx: Tx) {
  const projects = await tx.execute<{ id: string; first: number | null }>(
    sql.raw(`
    SELECT p.id, min(c.index) AS first FROM excerpt_projects p
    LEFT JOIN (SELECT project_id, index FROM changed_retirement_records
      UNION ALL SELECT project_id, record_index FROM excerpt_retirements
      UNION ALL SELECT project_id, record_index FROM excerpt_holder_acts
      UNION ALL ${UNCLAIMED_RECORDS}) AS c ON c.project_id = p.id
    WHERE p.token_address IS NOT NULL GROUP BY p.id ORDER BY p.id`),
  );
  const idsOf = async (query: string) => {
    const rows = await tx.execute<{ id: string }>(sql.raw(query));
    return rows.map(({ id }) => id);
  };
  return {
    projects: new Map(projects.map(({ id, first }) => [id, first])),
    receiptIds: await idsOf('SELECT id FROM excerpt_receipts WHERE token_address IS NOT NULL ORDER BY id'),
    offRampSessionIds: await idsOf(
      'SELECT id FROM excerpt_off_ramp_sessions WHERE provider_session_id IS NOT NULL ORDER BY id',
    ),
    submissionIds: await idsOf(
      `SELECT submission_id AS id FROM excerpt_attempts WHERE state = 'LANDED' ORDER BY created_at DESC LIMIT ${MAX_OUTCOMES}`,
    ),
  };
}
