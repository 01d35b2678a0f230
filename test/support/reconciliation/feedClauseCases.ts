/**
 * States of holders' acts and of the feed that hold the clauses of their queries (clauseCases.ts).
 */
import { copyOf, HOLDERS_RETIREMENT, OTHER_PROJECT, type ClauseCase } from './clauseCase.ts';

/** Another act, and its own submission. */
const anotherAct = (set: string) => `
  INSERT INTO submissions SELECT (jsonb_populate_record(s, jsonb_build_object('id', '00000000-0000-4000-8000-000000000001',
    'tx_hash', 'another'))).* FROM submissions s WHERE s.id = (SELECT submission_id FROM holder_acts WHERE id = ${HOLDERS_RETIREMENT});
  ${copyOf('holder_acts', `id = ${HOLDERS_RETIREMENT}`, `'id', gen_random_uuid(), 'submission_id', '00000000-0000-4000-8000-000000000001', ${set}`)}`;
const OF_HOLDERS_RECORD = `(project_id, index) = (SELECT project_id, record_index FROM holder_acts WHERE id = ${HOLDERS_RETIREMENT})`;
const expired = (set: string) =>
  copyOf(
    'submissions',
    `id = (SELECT submission_id FROM holder_acts WHERE id = ${HOLDERS_RETIREMENT})`,
    `'id', gen_random_uuid(), 'state', 'REFUSED', 'tx_hash', NULL, 'result', NULL, 'refusal_reason', 'EXPIRED'${set}`,
  );

export const HOLDER_CASES: readonly ClauseCase[] = [
  ...(['project_id', 'record_index'] as const).map((column): ClauseCase => ({
    name: `a record is not of an act with another ${column}`,
    saysNot: /names transaction/,
    sql: anotherAct(column === 'record_index' ? `'record_index', 50` : `'project_id', gen_random_uuid()`),
  })),
  ...(
    [
      [`retired_by = 'another'`, 'is of another account'],
      ['amount_base_units = amount_base_units + 1', 'is of another amount'],
      [`beneficiary = 'another'`, 'has another beneficiary'],
      [`note = note || 'x'`, 'has another note'],
    ] as const
  ).map(([set, what]): ClauseCase => ({
    name: `the record of a holder's retirement ${what}`,
    says: /^holder's retirement \S+ claims record \d+, which says otherwise/,
    sql: `UPDATE retirement_records SET ${set} WHERE ${OF_HOLDERS_RECORD}`,
  })),
  {
    name: 'an act is submitted again when what was signed expired',
    saysNot: /no act that was prepared/,
    sql: expired(''),
  },
  {
    name: 'a call of a prepared act expired that is of another act',
    says: /^submission \S+ is signed by a holder, and no act that was prepared/,
    sql: expired(`, 'target_id', gen_random_uuid()`),
  },
  {
    name: 'a prepared act is submitted twice',
    says: /^submission \S+ is signed by a holder, and no act that was prepared/,
    sql: copyOf(
      'submissions',
      `id = (SELECT submission_id FROM holder_acts WHERE id = ${HOLDERS_RETIREMENT})`,
      `'id', gen_random_uuid()`,
    ),
  },
  {
    name: "a holder's retirement has a record and no submission",
    says: /^holder's retirement \S+ has record \d+, its submission is missing/,
    sql: `UPDATE holder_acts SET submission_id = NULL WHERE id = ${HOLDERS_RETIREMENT}`,
  },
  {
    name: "a holder's deposit has no record, and no key of a retirement",
    saysNot: /^holder's retirement|^prepareRetirement made/,
    sql: anotherAct(`'kind', 'depositOffRamp', 'record_index', NULL`),
  },
];

export const FEED_CASES: readonly ClauseCase[] = [
  {
    name: 'a record is deleted between others',
    says: /^token \S+ has \d+ feed records from index 0 to/,
    sql: `DELETE FROM retirement_records WHERE index = 1`,
    inFullAlone: true,
  },
  {
    name: 'two records have one index, and none the first',
    says: /^token \S+ has \d+ feed records from index 1 to/,
    sql: `ALTER TABLE retirement_records DROP CONSTRAINT retirement_records_token_address_index_pk;
      UPDATE retirement_records SET index = 1 WHERE index = 0`,
    inFullAlone: true,
  },
  {
    name: 'the feed has a head and no records',
    says: /^the feed has 0 records at positions\s+to\s+, and its head is \d+/,
    sql: 'DELETE FROM retirement_records',
    inFullAlone: true,
  },
  {
    name: 'the feed is empty',
    saysNot: /^the feed has/,
    sql: `DELETE FROM retirement_records; UPDATE feed_head SET position = 0`,
  },
  {
    name: 'the feed begins before its first position',
    says: /^the feed has (\d+ records at positions 0 to|no record at position -1)/,
    sql: 'UPDATE retirement_records SET position = 0 WHERE position = 1',
  },
  {
    name: 'a record is of another project',
    says: /^record \d+ of token \S+ is kept for project \S+, whose token is \w+/,
    sql: `UPDATE retirement_records r SET project_id = ${OTHER_PROJECT('r.project_id')} WHERE ${OF_HOLDERS_RECORD}`,
  },
  {
    name: 'a record is of a project that is missing',
    says: /^record \d+ of token \S+ is kept for project \S+, whose token is missing/,
    sql: `UPDATE retirement_records SET project_id = gen_random_uuid() WHERE ${OF_HOLDERS_RECORD}`,
  },
];
