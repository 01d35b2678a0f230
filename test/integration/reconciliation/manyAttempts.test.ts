/**
 * A reconciliation of a long history reads only its newest attempts: sorting millions of attempts would
 * exceed the statement timeout.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Outcome, SentTransaction } from '../../../src/ledger/network/port.ts';
import { MAX_OUTCOMES, reconcileAttempts } from '../../../src/reconciliation/reconcileAttempts.ts';
import { findUnknownTokens } from '../../../src/reconciliation/unknownTokens.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';

/** Half of them were settled by custody, half refused to a holder. */
const SUBMISSIONS = 10_000;
const READ_TABLES = ['submissions', 'attempts', 'signing_accounts'];
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.handle.sql.unsafe(`
    INSERT INTO signing_accounts (address, next_sequence) VALUES ('C', 1000000);
    CREATE TEMPORARY TABLE rows AS SELECT n, gen_random_uuid() AS id, now() - make_interval(hours => 1000000 - n) AS at
      FROM generate_series(1, ${2 * SUBMISSIONS}) AS n;
    INSERT INTO submissions (id, kind, target_type, target_id, call, signer, state, due_at, tx_hash, result, refusal_reason, created_at, settled_at)
      SELECT id, 'retire', 'RETIREMENT', gen_random_uuid(), '{}', signer::submission_signer, state::submission_state, at, tx_hash,
        CASE WHEN tx_hash IS NOT NULL THEN '{"kind": "done"}'::jsonb END, reason, at, at
      FROM rows CROSS JOIN LATERAL (SELECT * FROM (VALUES ('CUSTODY', 'SUCCEEDED', n::text, NULL), ('HOLDER', 'REFUSED', NULL, 'OTHER'))
        AS v (signer, state, tx_hash, reason) WHERE (state = 'REFUSED') = (n % 2 = 0)) AS v;
    INSERT INTO attempts (hash, submission_id, number, state, source, sequence, signed_bytes, prepared_at_ledger, created_at, decided_at, evidence, ledger)
      SELECT n, id, 1, CASE n % 2 WHEN 1 THEN 'LANDED' ELSE 'REFUSED' END::attempt_state, CASE n % 2 WHEN 1 THEN 'C' ELSE 'W' END, n,
        decode(repeat('ab', 300), 'hex'), n, at, at, '', n FROM rows;
    DROP TABLE rows;`);
});
afterAll(() => database.drop());

const landed = async ({ preparedAtLedger }: SentTransaction): Promise<Outcome> => ({
  status: 'succeeded',
  ledger: preparedAtLedger,
  result: { kind: 'done' },
});

it.each(['young', 'analysed'])('reads few rows of %s tables', async (age) => {
  if (age === 'analysed') await database.handle.db.execute(sql`ANALYZE`);
  const asked: bigint[] = [];
  const outcome = (sent: SentTransaction) => {
    asked.push(sent.preparedAtLedger);
    return landed(sent);
  };
  const read = await rowsReadBy(database.handle, READ_TABLES, (db) =>
    reconcileAttempts({ db, network: { outcome } as never }),
  );
  expect(asked).toHaveLength(MAX_OUTCOMES);
  const newest = BigInt(2 * SUBMISSIONS - 1);
  expect([asked[0], asked.at(-1)]).toEqual([newest, newest - 2n * BigInt(MAX_OUTCOMES - 1)]);
  // The rows of two tables for each attempt, and refused ones between them.
  expect(read).toBeLessThanOrEqual(5 * MAX_OUTCOMES);

  const network = {
    findToken: async () => null,
    tokensDeployedSince: async (ledger: bigint | null) => {
      expect(ledger).toBe(newest);
      return [];
    },
  };
  expect(
    await rowsReadBy(database.handle, READ_TABLES, (db) => findUnknownTokens({ db, network })),
  ).toBeLessThanOrEqual(5);
});

it('takes more changed submissions than a statement has parameters', async () => {
  const rows = await database.handle.sql<
    { id: string }[]
  >`SELECT id FROM submissions ORDER BY created_at LIMIT 3`;
  const others = Array.from({ length: 70_000 }, () => randomUUID());
  const asked: bigint[] = [];
  const outcome = (sent: SentTransaction) => {
    asked.push(sent.preparedAtLedger);
    return landed(sent);
  };
  await reconcileAttempts({
    db: database.handle.db,
    network: { outcome } as never,
    submissionIds: [...rows.map(({ id }) => id), ...others],
  });
  expect(asked).toEqual([3n, 1n]);
});

it('asks about the attempt that landed, not about one that died before', async () => {
  const { db, sql: inDatabase } = database.handle;
  const [row] = await inDatabase<{ id: string }[]>`SELECT submission_id AS id FROM attempts WHERE hash = '1'`;
  await changePastRules(database, sql`UPDATE attempts SET number = 2 WHERE hash = '1'`);
  await inDatabase`INSERT INTO attempts SELECT (jsonb_populate_record(a,
    '{"hash": "dead", "number": 1, "state": "DEAD", "ledger": null, "sequence": 0}')).* FROM attempts a WHERE hash = '1'`;
  const asked: string[] = [];
  const outcome = (sent: SentTransaction) => {
    asked.push(sent.hash);
    return landed(sent);
  };
  await reconcileAttempts({ db, network: { outcome } as never, submissionIds: [row?.id ?? ''] });
  expect(asked).toEqual(['1']);
});

it.each<[what: string, Partial<Outcome>, found: number]>([
  ['the stored result', {}, 0],
  ['no outcome, because its history does not reach back', { status: 'undeterminable', reason: 'x' }, 0],
  ['another result', { result: { kind: 'retired', retirementIndex: 1 } }, MAX_OUTCOMES],
  ['a dead attempt', { status: 'dead', proof: 'x' }, MAX_OUTCOMES],
  ['an attempt that is under way', { status: 'pending' }, MAX_OUTCOMES],
])('compares what landed with what the network shows: %s', async (_, shown, found) => {
  const outcome = async (sent: SentTransaction) => ({ ...(await landed(sent)), ...shown }) as Outcome;
  const network = { outcome } as never;
  const { findings, notProved } = await reconcileAttempts({ db: database.handle.db, network });
  expect([findings.length, notProved]).toEqual([found, []]);
  expect(findings.every(({ invariant }) => invariant === 'I12')).toBe(true);
});
