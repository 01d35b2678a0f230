/**
 * States of keys, the audit log and the transparency logs that hold the clauses of their queries (clauseCases.ts).
 */
import { copyOf, FIRST, type ClauseCase } from './clauseCase.ts';

const SETTLED = FIRST('off_ramp_sessions', `state = 'SETTLED'`);
const set = (session: string, columns: string) =>
  `UPDATE off_ramp_sessions SET ${columns} WHERE id = ${session}`;
const key = (operation: string, target: string) =>
  `INSERT INTO idempotency_keys (caller_subject, operation, key, input_hash, target_id)
  VALUES ('farmer', '${operation}', 'a key', 'hash', ${target})`;

const KEY_OF_NOTHING = /^key \S+ .*of \w+ by \S+ stands for \S+, which is missing/;
const MADE_WITHOUT_KEY = /without an idempotency key/;
const IS_CANCELLED = set(SETTLED, `cancel_requested_at = now(), cancel_requested_by = 'farmer'`);

export const KEY_CASES: readonly ClauseCase[] = [
  {
    name: 'a session is to be cancelled, under a key',
    saysNot: /without an idempotency key|stands for/,
    sql: `${IS_CANCELLED}; ${key('cancelCashOut', SETTLED)}`,
  },
  { name: 'a session is to be cancelled, without a key', says: MADE_WITHOUT_KEY, sql: IS_CANCELLED },
  {
    name: 'a session has a key of its end, which was not asked for',
    says: /stands for \S+, which is missing/,
    sql: key('cancelCashOut', SETTLED),
  },
  {
    name: 'a first price has a key beside that of its project',
    says: /stands for \S+, which is missing/,
    sql: `INSERT INTO project_prices (id, project_id, number, price_per_tonne, price_currency, set_by, created_at)
      SELECT id, id, 1, 10, 'EUR', developer_id, created_at FROM projects p
      WHERE NOT EXISTS (SELECT 1 FROM project_prices WHERE project_id = p.id) ORDER BY id LIMIT 1;
      ${key('setProjectPrice', FIRST('project_prices', 'id = project_id'))}`,
  },
  {
    name: "a holder's deposit has the key of a retirement",
    says: /stands for \S+, which is missing/,
    sql: `UPDATE holder_acts SET kind = 'depositOffRamp' WHERE kind = 'retire'`,
  },
  {
    name: 'a pledge is not released',
    saysNot: MADE_WITHOUT_KEY,
    sql: `DELETE FROM idempotency_keys WHERE operation = 'releasePledge';
      UPDATE receipt_pledges SET released_at = NULL, released_by = NULL`,
  },
  {
    name: 'a project was approved, and is missing',
    says: KEY_OF_NOTHING,
    sql: `UPDATE approval_requests SET state = 'APPROVED' WHERE operation = 'createProject' AND state = 'AWAITING'`,
  },
  {
    name: 'a request for approval became another',
    says: [KEY_OF_NOTHING, /^request \S+ for approval of/],
    sql: `UPDATE approval_requests SET operation = 'createDeposit' WHERE operation = 'createProject' AND state = 'AWAITING'`,
  },
  {
    name: 'the key of a request for approval stands for something else',
    says: KEY_OF_NOTHING,
    sql: `UPDATE idempotency_keys SET target_id = gen_random_uuid()
      WHERE target_id = ${FIRST('approval_requests', `operation = 'createProject' AND state = 'AWAITING'`)}`,
  },
  {
    name: 'a request of an operator has no key',
    saysNot: /^request \S+ for approval of/,
    sql: copyOf('approval_requests', 'true', `'id', gen_random_uuid(), 'operation', 'resumeSigning'`),
  },
  {
    name: 'the last entry of a process in the audit log is number 7, after four others',
    says: /^process \S+ wrote 5 entries of the audit log,/,
    sql: 'UPDATE audit_entries SET number = 7 WHERE number = 5',
  },
];

const TILE = (log: string) => `log = '${log}' AND level = 0`;
const NOT_LOGGED = (noun: string) => new RegExp(`^${noun} \\S+ is not in the transparency log as it is now`);
const AN_ENTRY = (writer: string, number: string) =>
  copyOf(
    'audit_entries',
    'number = 5',
    `'id', gen_random_uuid(), 'writer_id', ${writer}, 'number', ${number}`,
  );
const PRUNED =
  /^\d+ audit entries are in the transparency log and no longer in the table, and \d+ are pruned/;

export const LOG_CASES: readonly ClauseCase[] = [
  ...(
    [
      ['transfers', 'transfer'],
      ['audit', 'audit entry'],
    ] as const
  ).flatMap(([log, noun]): ClauseCase[] => [
    {
      name: `the leaves of the log of ${log} are on a higher level`,
      says: NOT_LOGGED(noun),
      sql: `UPDATE transparency_tiles SET level = 1, index = 99 WHERE ${TILE(log)}; ${touchRowsOf(log)}`,
    },
    {
      name: `the leaves of the log of ${log} are in another log`,
      says: NOT_LOGGED(noun),
      sql: `UPDATE transparency_tiles SET log = '${log === 'audit' ? 'transfers' : 'audit'}', index = 99 WHERE ${TILE(log)}; ${touchRowsOf(log)}`,
    },
    {
      name: `two leaves of the log of ${log} exchange their rows`,
      says: NOT_LOGGED(noun),
      sql: `UPDATE transparency_tiles SET row_ids = trim_array(row_ids, 2) || row_ids[cardinality(row_ids)] || row_ids[cardinality(row_ids) - 1] WHERE ${TILE(log)}; ${touchRowsOf(log)}`,
    },
  ]),
  {
    name: 'the log of retirements has a higher level',
    saysNot: /of the transparency log of retirements is not the record/,
    sql: `INSERT INTO transparency_tiles (log, level, index, hashes) VALUES ('retirements', 1, 0, sha256('1'))`,
  },
  {
    name: 'a record is gone that the log has',
    says: /^leaf \d+ of the transparency log of retirements is not the record at position/,
    sql: 'DELETE FROM retirement_records WHERE position = (SELECT max(position) FROM retirement_records)',
    inFullAlone: true,
  },
  {
    name: 'an entry is beyond the end of the log',
    saysNot: NOT_LOGGED('audit entry'),
    sql: `UPDATE audit_writers SET entries = 6 WHERE entries = 5; ${AN_ENTRY('writer_id', '6')}`,
  },
  {
    name: 'an entry is of a process that the log does not know yet',
    saysNot: NOT_LOGGED('audit entry'),
    sql: AN_ENTRY('gen_random_uuid()', '1'),
  },
  {
    name: 'a pruned entry has two leaves',
    saysNot: PRUNED,
    sql: `UPDATE transparency_tiles SET hashes = hashes || sha256('ended'),
        row_ids = row_ids || (SELECT id FROM unnest(row_ids) AS id WHERE id NOT IN (SELECT id FROM audit_entries) LIMIT 1) WHERE ${TILE('audit')}`,
  },
  {
    name: 'the log of the audit is deleted, after a pruning',
    says: PRUNED,
    sql: `DELETE FROM transparency_tiles WHERE log = 'audit'; DELETE FROM transparency_heads WHERE log = 'audit'`,
    inFullAlone: true,
  },
  {
    name: 'all entries and their counts are deleted',
    says: PRUNED,
    sql: 'DELETE FROM audit_entries; DELETE FROM audit_writers',
    inFullAlone: true,
  },
];

/** Rows whose leaves are wanted in an incremental run. */
function touchRowsOf(log: 'transfers' | 'audit'): string {
  const table = log === 'audit' ? 'audit_entries' : 'transfers';
  return `UPDATE ${table} SET id = id`;
}
