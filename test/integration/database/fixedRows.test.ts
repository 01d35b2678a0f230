/**
 * Written rows stay as they are: which columns may change, and which changes are refused to any program.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';

let database: TestDatabase;

const SUBMISSION = `INSERT INTO submissions (id, kind, target_type, target_id, call, state, due_at, created_at, settled_at, tx_hash, refusal_reason)
  VALUES (gen_random_uuid(), 'retire', 'RETIREMENT', gen_random_uuid(), '{}', `;
const ATTEMPT = `INSERT INTO attempts (hash, submission_id, number, source, sequence, signed_bytes, prepared_at_ledger, created_at,
    state, decided_at, ledger, evidence)
  VALUES (gen_random_uuid()::text, gen_random_uuid(), 1, gen_random_uuid()::text, 5, '\\x00', 1, now(), `;
const RECORD = `INSERT INTO retirement_records (position, project_id, token_address, index, retired_by, amount_base_units, timestamp,
    beneficiary, note, tx_hash, is_claimed, appended_at)
  VALUES (1, gen_random_uuid(), 'token', 0, 'custody', 1, 7, 'Acme', '', `;
const ROWS = [
  `${SUBMISSION}'PENDING', now(), now(), NULL, NULL, NULL)`,
  `${SUBMISSION}'SUCCEEDED', now(), now(), now(), 'hash', NULL)`,
  `${SUBMISSION}'REFUSED', now(), now(), now(), NULL, 'PAUSED')`,
  `${ATTEMPT}'OPEN', NULL, NULL, NULL)`,
  `${ATTEMPT}'DEAD', now(), NULL, 'its time is over')`,
  `${ATTEMPT}'REFUSED', now(), 7, 'paused')`,
  `${RECORD}'hash', true, now())`,
  `INSERT INTO holder_acts (id, kind, call, holder_address, prepared_by, format, payload, prepared_at_ledger, submission_id, created_at)
    SELECT gen_random_uuid(), 'retire', '{}', 'holder', 'acme', 'xdr', 'AAAA', 1, id, now() FROM submissions`,
  `INSERT INTO approval_requests (id, operation, input, basis, state, requested_by, requested_at, expires_at, decided_by, decided_at, refusal_reason)
    VALUES (gen_random_uuid(), 'resumeSigning', '{}', 'halted', 'REFUSED', 'ann', now(), now() + interval '1 day', 'ben', now(), 'not yet')`,
  `INSERT INTO approval_requests (id, operation, input, basis, requested_by, requested_at, expires_at)
    VALUES (gen_random_uuid(), 'resumeSigning', '{}', 'halted', 'ann', now(), now() + interval '1 day')`,
  `INSERT INTO transparency_heads (log, size, root, checkpoint, updated_at) VALUES ('transfers', 2, sha256('2'), 'signed', now())`,
  `INSERT INTO transparency_tiles (log, level, index, hashes, row_ids)
    VALUES ('transfers', 0, 0, sha256('a') || sha256('b'), ARRAY[gen_random_uuid(), gen_random_uuid()])`,
  `INSERT INTO transparency_audit_writers (writer_id, number) VALUES (gen_random_uuid(), 5)`,
];

beforeAll(async () => {
  database = await createTestDatabase();
  await database.handle.db.transaction(async (tx) => {
    // The rows that they refer to are missing.
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    for (const row of ROWS) await tx.execute(sql.raw(row));
  });
});
afterAll(() => database.drop());

/**
 * Tries statements in a transaction that is undone.
 * @returns the database's error for the last one; null when it is accepted
 */
async function tryOut(statements: readonly string[]): Promise<unknown> {
  const undo = new Error('undone');
  return database.handle.db
    .transaction(async (tx) => {
      let changed = 0;
      for (const statement of statements) changed = (await tx.execute(sql.raw(statement))).count;
      throw changed > 0 ? undo : new Error('it changes nothing');
    })
    .catch((error: unknown) => (error === undo ? null : error));
}

/** Refused by a trigger: constraints of columns have other error codes. */
async function refused(...statements: string[]): Promise<void> {
  expect(await tryOut(statements), statements.at(-1)).toMatchObject({ cause: { code: '23000' } });
}

async function takes(...statements: string[]): Promise<void> {
  expect(await tryOut(statements), statements.at(-1)).toBeNull();
}

/** An SQL value that a column of this type may change to. */
function otherValue(column: string, type: string): string {
  const values: Record<string, string> = {
    uuid: 'gen_random_uuid()',
    text: `'other'`,
    integer: '99',
    bigint: '99',
    numeric: '99',
    bytea: `'\\x99'`,
    jsonb: `'{"other": true}'`,
    boolean: `NOT ${column}`,
    'timestamp with time zone': `'2020-01-01Z'`,
  };
  return (
    values[type] ??
    `(SELECT v FROM unnest(enum_range(NULL::${type})) v WHERE v IS DISTINCT FROM ${column} LIMIT 1)`
  );
}

/** The columns that may change repeatedly, in tables with rules by column (add_row_rules). */
const CHANGEABLE: Record<string, string[]> = {
  api_keys: ['last_used_at'],
  approval_requests: ['decided_at', 'decided_by', 'decided_with_key', 'refusal_reason', 'state'],
  attempts: ['cause', 'decided_at', 'evidence', 'ledger', 'state'],
  expiry_items: ['message', 'state'],
  expiry_runs: ['due_at', 'fruitless_steps', 'problem'],
  // Set anew when the signed attempt is dead.
  holder_acts: ['submission_id'],
  off_ramp_sessions: [
    'due_at',
    'ended_at',
    'fruitless_steps',
    'hints',
    // The account has its own rules: it may be sealed anew or erased.
    'masked_account_number',
    'payout_account_erased_at',
    'provider_status',
    'refusal_code',
    'review_version',
    'sealed_payout_account',
    'signature_due_at',
    'state',
    'state_reason',
  ],
  projects: ['state', 'state_reason'],
  receipts: ['state', 'state_reason'],
  retirements: ['state', 'state_reason'],
  settlement_deployments: ['state', 'state_reason'],
  submissions: [
    'adopted_outcome',
    'attempts_before_resume',
    'created_at',
    'due_at',
    'failed_settlements',
    'failed_steps',
    'fruitless_steps',
    'refusal_reason',
    'result',
    'resumptions',
    'review_cause',
    'settled_at',
    'state',
    'state_reason',
    'tx_hash',
  ],
};

/** Rows whose columns are tried one by one. */
const UNDECIDED = [
  { table: 'attempts', rows: `state = 'OPEN'` },
  { table: 'submissions', rows: `state = 'PENDING'` },
  { table: 'retirement_records', rows: 'true' },
  { table: 'approval_requests', rows: `state = 'AWAITING'` },
];

/** What the checks of columns ask of decided rows. */
const DECIDED: Record<string, string> = {
  attempts: `decided_at = now(), ledger = NULL, evidence = 'seen'`,
  submissions: `settled_at = NULL, tx_hash = NULL, refusal_reason = NULL`,
  approval_requests: `decided_by = 'ben', decided_at = now(), refusal_reason = NULL`,
};

describe('a row', () => {
  it.each(UNDECIDED)('of $table keeps what is not named', async ({ table, rows }) => {
    const columns = await database.handle.sql<{ name: string; type: string }[]>`
      SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
      WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped`;
    for (const { name, type } of columns) {
      if (CHANGEABLE[table]?.includes(name)) continue;
      await refused(`UPDATE ${table} SET "${name}" = ${otherValue(`"${name}"`, type)} WHERE ${rows}`);
    }
  });

  it.each([
    ['an attempt that is dead', `UPDATE attempts SET state = 'LANDED', ledger = 9 WHERE state = 'DEAD'`],
    ['an attempt that was refused', `UPDATE attempts SET state = 'DEAD' WHERE state = 'REFUSED'`],
    [
      'a submission that was refused',
      `UPDATE submissions SET state = 'PENDING', settled_at = NULL WHERE state = 'REFUSED'`,
    ],
    [
      'the reason of a refusal',
      `UPDATE approval_requests SET refusal_reason = 'never' WHERE state = 'REFUSED'`,
    ],
    ['a submission that succeeded', `UPDATE submissions SET tx_hash = 'other' WHERE state = 'SUCCEEDED'`],
    [
      'a request that was decided',
      `UPDATE approval_requests SET state = 'APPROVED', decided_by = 'cem', decided_at = now(), refusal_reason = NULL`,
    ],
  ])('stays decided: %s', (_name, change) => refused(change));

  it.each([
    ['attempts', 'attempt_state', 'cause'],
    ['submissions', 'submission_state', 'result'],
    ['approval_requests', 'approval_state', 'decided_with_key'],
  ])('of %s is fixed in a state that a later version adds', async (table, type, column) => {
    await database.handle.sql.unsafe(`ALTER TYPE ${type} ADD VALUE 'LATER'`);
    await refused(
      'SET LOCAL session_replication_role = replica',
      `UPDATE ${table} SET state = 'LATER', ${DECIDED[table]}`,
      'SET LOCAL session_replication_role = origin',
      `UPDATE ${table} SET "${column}" = NULL`,
    );
  });

  it('of the feed is dated anew while signing is halted, and not otherwise', async () => {
    const redate = 'UPDATE retirement_records SET timestamp = 8';
    await refused(redate);
    const halt = `INSERT INTO signing_accounts (address, next_sequence, halted_because) VALUES ('custody', 1, 'rolled back')`;
    await takes(halt, redate);
    await refused(halt, `${redate}, is_claimed = false`);
    await refused(halt, `${redate}, tx_hash = 'other'`);
    await refused(halt.replace(`'rolled back'`, 'NULL'), redate);
    await takes(
      'ALTER TABLE retirement_records DROP CONSTRAINT retirement_records_project_id_projects_id_fk',
      halt,
      redate,
      'UPDATE retirement_records SET timestamp = 9',
      'UPDATE retirement_records SET timestamp = 10 WHERE first_timestamp = 7',
    );
  });

  it('of a holder’s act gets another submission when what was signed is dead, and not otherwise', async () => {
    const another = `${SUBMISSION.replace("'retire'", "'mint'")}'PENDING', now(), now(), NULL, NULL, NULL)`;
    const ofState = (
      state: string,
    ) => `UPDATE holder_acts SET submission_id = (SELECT id FROM submissions WHERE kind = 'mint')
      WHERE submission_id = (SELECT id FROM submissions WHERE state = '${state}' AND kind = 'retire')`;
    for (const state of ['PENDING', 'SUCCEEDED', 'REFUSED']) await refused(another, ofState(state));
    const expired = (state: string) => [
      another,
      'SET LOCAL session_replication_role = replica',
      `UPDATE submissions SET refusal_reason = 'EXPIRED' WHERE state = '${state}'`,
      'SET LOCAL session_replication_role = origin',
      ofState(state),
    ];
    await takes(...expired('REFUSED'));
    await refused(...expired('SUCCEEDED'));
    await refused(...expired('REFUSED').slice(0, 4), ofState('PENDING'));
    const ofRefused = `submission_id = (SELECT id FROM submissions WHERE refusal_reason = 'EXPIRED')`;
    const none = `UPDATE holder_acts SET submission_id = NULL WHERE ${ofRefused}`;
    await refused(...expired('REFUSED').slice(0, 4), none);
    const replica = 'SET LOCAL session_replication_role = replica';
    const origin = 'SET LOCAL session_replication_role = origin';
    const first = `UPDATE holder_acts SET submission_id = (SELECT id FROM submissions WHERE kind = 'mint') WHERE submission_id IS NULL`;
    await takes(...expired('REFUSED').slice(0, 3), replica, none, origin, first);
  });

  it('of an attempt replaces an open one in its own slot, and in no other', async () => {
    const replacing = (
      set: string,
    ) => `INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object(
        'hash', 'replacing', 'number', 2, 'replaces', hash${set}))).* FROM attempts a WHERE state = 'OPEN'`;
    // The submission is missing.
    const unbound = 'ALTER TABLE attempts DROP CONSTRAINT attempts_submission_id_submissions_id_fk';
    await takes(unbound, replacing(''));
    await refused(unbound, replacing(`, 'submission_id', gen_random_uuid()`));
    await refused(unbound, replacing(`, 'source', 'other'`));
    await refused(unbound, replacing(`, 'sequence', 6`));
    const without = `INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object(
        'hash', 'without', 'sequence', NULL))).* FROM attempts a WHERE state = 'OPEN'`;
    await refused(
      unbound,
      'ALTER TABLE attempts DROP CONSTRAINT attempts_number',
      'DROP INDEX attempts_one_open',
      without,
      `${replacing('')} AND sequence IS NULL`,
    );
  });

  it('of a signing account gives back the last sequence, when its attempts are dead', async () => {
    const account = (state: string) =>
      `INSERT INTO signing_accounts (address, next_sequence) SELECT source, 6 FROM attempts WHERE state = '${state}'`;
    const back = 'UPDATE signing_accounts SET next_sequence = 5';
    await takes(account('DEAD'), back);
    await refused(account('OPEN'), back);
    await refused(account('REFUSED'), back);
    await refused(account('DEAD'), `UPDATE signing_accounts SET address = 'other'`);
    await refused(account('DEAD').replace('6', '7'), back);
    await refused(`INSERT INTO signing_accounts (address, next_sequence) VALUES ('unused', 6)`, back);
    await refused(
      account('DEAD'),
      'SET LOCAL session_replication_role = replica',
      `UPDATE attempts SET cause = 'failed' WHERE state = 'DEAD'`,
      'SET LOCAL session_replication_role = origin',
      back,
    );
  });

  it('of a process in the audit log counts entries and pruned ones, which become no fewer', async () => {
    const writer = `INSERT INTO audit_writers (id, started_at, program_version, entries, pruned)
      VALUES ('00000000-0000-4000-8000-000000000001', now(), 'v', 5, 2)`;
    await takes(writer, 'UPDATE audit_writers SET entries = 6');
    await refused(writer, 'UPDATE audit_writers SET entries = 4');
    await refused(writer, 'UPDATE audit_writers SET entries = 6, pruned = 1');
    const pruning = (
      from: number,
      to: number,
    ) => `INSERT INTO audit_prunings (writer_id, from_number, to_number, sha256, pruned_at)
      SELECT id, ${from}, ${to}, sha256(''), now() FROM audit_writers`;
    await takes(writer, pruning(3, 4), 'UPDATE audit_writers SET pruned = 4');
    await refused(writer, pruning(1, 4), 'UPDATE audit_writers SET pruned = 4');
    await refused(writer, pruning(3, 5), 'UPDATE audit_writers SET pruned = 4');
  });

  it('of the audit log gets its outcome and further targets, and keeps the rest', async () => {
    const entry = (
      outcome: string,
    ) => `INSERT INTO audit_entries (id, kind, writer_id, number, started_at, request_id,
        caller_roles, remote_address, field, outcome, ended_at, target_ids)
      VALUES (gen_random_uuid(), 'MUTATION', '${randomUUID()}', 1, now(), 'test', '{}', '::1', 'retire', ${outcome}, '{a}')`;
    const end = `UPDATE audit_entries SET outcome = 'OK', ended_at = now()`;
    await takes(entry('NULL, NULL'), `${end}, target_ids = '{a,b}'`);
    await refused(entry('NULL, NULL'), `${end}, target_ids = '{b}'`);
    await refused(entry('NULL, NULL'), `UPDATE audit_entries SET target_ids = '{a,b}'`);
    await refused(entry(`'FAILED', now()`), end);
    for (const other of [
      ...['id', 'writer_id', 'api_key_id'].map((column) => `${column} = gen_random_uuid()`),
      ...['request_id', 'caller_subject', 'remote_address', 'field'].map((column) => `${column} = 'other'`),
      'number = 2',
      `started_at = '2020-01-01Z'`,
      `caller_roles = '{operator}'`,
    ]) {
      await refused(entry('NULL, NULL'), `${end}, ${other}`);
    }
  });

  it('of a halt of signing begins and ends with it, and no other does', async () => {
    const account = (address: string, because: string) =>
      `INSERT INTO signing_accounts (address, next_sequence, halted_because) VALUES ('${address}', 1, ${because})`;
    const halt = (address: string, because: string) =>
      `UPDATE signing_accounts SET halted_because = ${because} WHERE address = '${address}'`;
    const checked = (condition: string) => `UPDATE signing_halts SET accepted_ledger = 1 WHERE ${condition}`;
    const begun = [account('a', `'begun'`), account('b', 'NULL'), halt('b', `'of b'`)];
    const isOne = `(SELECT count(*) FROM signing_halts WHERE address = 'a') = 1`;
    await takes(
      ...begun,
      halt('a', `'begun'`),
      checked(`because = 'begun' AND ended_at IS NULL AND ${isOne}`),
    );
    await takes(...begun, halt('a', 'NULL'), checked(`address = 'a' AND ended_at >= began_at`));
    await refused(...begun, `UPDATE signing_halts SET because = 'other'`);
    // An end of one account's halt ends no halt of another, nor one that ended before.
    await takes(...begun, halt('a', 'NULL'), checked(`address = 'b' AND ended_at IS NULL`));
    const past = [
      'SET LOCAL session_replication_role = replica',
      `UPDATE signing_halts SET began_at = '2020-01-01Z', ended_at = '2020-01-02Z' WHERE address = 'a'`,
      `INSERT INTO signing_halts (address, because, began_at) VALUES ('a', 'ahead', now() + interval '1 day')`,
      'SET LOCAL session_replication_role = origin',
    ];
    await takes(...begun, ...past, halt('a', 'NULL'), checked(`address = 'a' AND ended_at = '2020-01-02Z'`));
    // The clock may go back.
    await takes(...begun, ...past, halt('a', 'NULL'), checked(`because = 'ahead' AND ended_at = began_at`));
  });
});

describe('a transparency log', () => {
  it.each([
    ['does not shrink', 'UPDATE transparency_heads SET size = 1'],
    ['has one root of one size', `UPDATE transparency_heads SET root = sha256('3')`],
    ['keeps its leaves', `UPDATE transparency_tiles SET hashes = sha256('c') || substring(hashes FROM 33)`],
    ['keeps the rows of its leaves', 'UPDATE transparency_tiles SET row_ids = ARRAY[row_ids[2], row_ids[1]]'],
    [
      'loses no leaf',
      'UPDATE transparency_tiles SET hashes = substring(hashes FOR 32), row_ids = row_ids[:1]',
    ],
    ['does not go back behind an entry', 'UPDATE transparency_audit_writers SET number = 4'],
    ['has a row for each leaf', 'UPDATE transparency_tiles SET row_ids = NULL'],
    ['keeps its name', `UPDATE transparency_heads SET log = 'audit'`],
    ['keeps its tiles', `UPDATE transparency_tiles SET log = 'audit'`],
    ['keeps its tiles on their level', 'UPDATE transparency_tiles SET level = 1'],
    ['keeps its tiles in their places', 'UPDATE transparency_tiles SET index = 1'],
    [
      'keeps the entries of each process',
      'UPDATE transparency_audit_writers SET writer_id = gen_random_uuid()',
    ],
  ])('%s', (_name, change) => refused(change));

  it('grows', async () => {
    const head = `UPDATE transparency_heads SET size = 3, root = sha256('3')`;
    const leaf = `UPDATE transparency_tiles SET hashes = hashes || sha256('c'), row_ids = row_ids || gen_random_uuid()`;
    expect(await tryOut([head, leaf])).toBeNull();
  });
});

it('a transfer of each kind is between two kinds of accounts', async () => {
  const sides = await database.handle.sql<{ kind: string; debit: string; credit: string }[]>`
    SELECT k AS kind, d AS debit, c AS credit FROM unnest(enum_range(NULL::transfer_kind)) k, unnest(enum_range(NULL::account_kind)) d,
      unnest(enum_range(NULL::account_kind)) c WHERE are_sides_of(k, d, c) ORDER BY k`;
  expect(sides.map(({ kind, debit, credit }) => `${kind}: ${debit} → ${credit}`).toSorted()).toEqual([
    'credit_transfer: buyer → buyer',
    'issue: issuance → inventory',
    'purchase: inventory → buyer',
    'retirement_hold: buyer → retiring',
    'retirement_return: retiring → buyer',
    'retirement_settle: retiring → retired',
  ]);
});

it('a column of a table with rules is fixed or set once, but for those that are named', async () => {
  const free = await database.handle.sql<{ name: string; columns: string[] }[]>`
    SELECT c.relname AS name, array_to_json(array_agg(a.attname ORDER BY a.attname)) AS columns
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE t.tgname = c.relname || '_rules' AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attname <> ALL (regexp_split_to_array(encode(t.tgargs, 'escape'), ' |\\\\000'))
    GROUP BY c.relname ORDER BY c.relname`;
  expect(Object.fromEntries(free.map(({ name, columns }) => [name, columns]))).toEqual(CHANGEABLE);
});

it('an attempt is replaced only once no other transaction decides it', async () => {
  const { db } = database.handle;
  let replaced: Promise<void> | undefined;
  await db.transaction(async (tx) => {
    await tx.execute(
      sql`UPDATE attempts SET state = 'DEAD', decided_at = now(), evidence = 'its time is over' WHERE state = 'OPEN'`,
    );
    const replacing = db.execute(sql`INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object(
      'hash', 'replacing', 'number', 2, 'replaces', hash))).* FROM attempts a WHERE state = 'OPEN'`);
    replaced = expect(replacing).rejects.toMatchObject({
      cause: { message: expect.stringContaining('can not be replaced: it is decided') as string },
    });
    await expect.poll(() => hasLockWait(database.handle)).toBe(true);
  });
  await replaced;
});
