/**
 * A token's records on the network against what the database has stored of them, and what claims them.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { installation } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork, RetirementRecord } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { compareRecords, readClaimedUpTo } from '../../../src/reconciliation/compareRecords.ts';
import type { ReconciledProject } from '../../../src/reconciliation/reconcileProject.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';

const CUSTODY = 'custody';
const RECORDS: readonly RetirementRecord[] = ['first', 'ours', 'a holder’s'].map((note, index) => ({
  index,
  retiredBy: note === 'a holder’s' ? 'a holder' : CUSTODY,
  amount: toBaseUnits(5n),
  timestamp: 1_700_000_000n,
  beneficiary: 'Acme Ltd',
  note,
}));
const [FIRST, , HOLDERS] = RECORDS as [RetirementRecord, RetirementRecord, RetirementRecord];
const PENDING = { state: 'PENDING', index: null };

let database: TestDatabase;
let restorable: Restorable;
let project: ReconciledProject;

beforeAll(async () => {
  database = await createTestDatabase();
  const id = await insertProject(database.handle.db, { quantityTonnes: 100n, tokenAddress: 'T' });
  await insertProject(database.handle.db, { quantityTonnes: 100n, tokenAddress: 'ANOTHER' });
  project = { id, tokenAddress: 'T', assetId: 'asset' };
  const owner = { networkName: 'n', networkId: 'n', custodyAddress: CUSTODY, createdAt: new Date() };
  await database.handle.db.insert(installation).values(owner);
  restorable = await makeRestorable(database);
});
afterEach(() => restorable.restore());
afterAll(async () => {
  await restorable.close();
  await database.drop();
});

async function store(records: readonly RetirementRecord[]): Promise<void> {
  for (const { index, retiredBy, amount, timestamp, beneficiary, note } of records) {
    await restorable.touch(`
      INSERT INTO retirement_records (position, project_id, token_address, index, retired_by, amount_base_units, timestamp, beneficiary, note, appended_at)
      VALUES (${index + 1}, '${project.id}', 'T', ${index}, '${retiredBy}', ${amount}, ${timestamp}, '${beneficiary}', '${note}', now())`);
  }
}

interface Claim {
  note: string;
  index: number | null;
  state?: string;
  projectId?: string;
}

/** @returns the id of a retirement of 5 t */
async function claim({ note, index, state = 'RETIRED', projectId = project.id }: Claim): Promise<string> {
  const id = randomUUID();
  await restorable.touch(`
    INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, record_index, tx_hash, ledger, settled_at, created_at)
    SELECT '${id}', '${projectId}', 'acme', 'Acme Ltd', '${note}', 5, '${state}', index, 'hash' || index, index, CASE WHEN '${state}' IN ('RETIRED', 'REFUSED') THEN now() END, now()
    FROM (SELECT ${index}::int AS index) AS it`);
  return id;
}

/** @returns the id of an act of the holder, of 5 t */
async function act(index: number, call: object = {}): Promise<string> {
  const id = randomUUID();
  const facts = {
    amount: { $integer: String(toBaseUnits(5n)) },
    beneficiary: 'Acme Ltd',
    note: 'a holder’s',
  };
  await restorable.touch(`
    INSERT INTO holder_acts (id, kind, call, holder_address, prepared_by, project_id, record_index, format, payload, prepared_at_ledger, created_at)
    VALUES ('${id}', 'retire', '${JSON.stringify({ ...facts, ...call })}', 'a holder', 'acme', '${project.id}', ${index}, 'f', 'p', 1, now())`);
  return id;
}

/** The state in which everything agrees. */
async function agree(): Promise<{ ours: string; held: string }> {
  await store(RECORDS);
  await claim({ note: 'first', index: 0 });
  return { ours: await claim({ note: 'ours', index: 1 }), held: await act(2) };
}

type Options = Partial<Parameters<typeof compareRecords>[2]> &
  Pick<Parameters<typeof compareRecords>[0], 'isStill' | 'maxRecords' | 'fromRecord'>;

/** @returns the findings and obstacles, without the asset's name */
async function compare(
  records: readonly RetirementRecord[],
  { isStill, maxRecords, fromRecord, ...options }: Options = {},
): Promise<string[]> {
  const totalRetired = records.reduce((sum, { amount }) => sum + amount, 0n);
  const totals = { totalSupply: 0n, totalRetired, totalRetirements: records.length };
  const retirementRecords: LedgerNetwork['retirementRecords'] = async (_, from, limit) => ({
    totals,
    records: records.slice(from, from + limit),
  });
  const limits = {
    ...(isStill === undefined ? {} : { isStill }),
    ...(maxRecords === undefined ? {} : { maxRecords }),
    ...(fromRecord === undefined ? {} : { fromRecord }),
  };
  const network = { retirementRecords, custodyAddress: CUSTODY };
  const deps = { db: database.handle.db, network, ...limits } as Parameters<typeof compareRecords>[0];
  const claimedUpTo = await readClaimedUpTo(database.handle.db, project);
  const compared = await compareRecords(deps, project, { totals, claimedUpTo, ...options });
  const of = ({ invariant, message }: { invariant: string; message: string }) =>
    `${invariant}: ${message.replace(/^asset: /, '')}`;
  return [...compared.findings.map(of), ...compared.notProved.map((item) => `${item.obstacle} ${of(item)}`)];
}

it('finds nothing where each record is stored, and custody’s are claimed', async () => {
  await agree();
  expect(await compare(RECORDS)).toEqual([]);
});

describe('the number of records', () => {
  it.each([
    ['stored', () => store(RECORDS)],
    ['claimed by a retirement', () => claim({ note: 'ours', index: 2 })],
    ['claimed by a holder’s act', () => act(2)],
  ])('is too small on the network when a later one is %s', async (_, know) => {
    await know();
    const found = await compare(
      [HOLDERS].map((record) => ({ ...record, index: 0 })),
      { unstoredFrom: 0 },
    );
    expect(found).toContain('I10: the token has 1 retirements, the database knows of records up to index 2');
  });

  it('may be one more than the index of the last known one, of this token', async () => {
    await agree();
    await restorable.touch(`UPDATE retirement_records SET token_address = 'ANOTHER' WHERE index = 2`);
    await restorable.touch(`UPDATE holder_acts SET project_id = gen_random_uuid()`);
    await claim({ note: 'of another project', index: 7, projectId: randomUUID() });
    expect(await readClaimedUpTo(database.handle.db, project)).toBe(2);
    expect(await readClaimedUpTo(database.handle.db, { id: randomUUID(), tokenAddress: 'NONE' })).toBe(0);
    expect(await compare(RECORDS, { unstoredFrom: 2 })).toEqual([]);
  });
});

describe('a stored record', () => {
  it.each<[string, Partial<RetirementRecord>]>([
    ['retiredBy', { retiredBy: 'another holder' }],
    ['amount', { amount: toBaseUnits(5n) + 1n }],
    ['timestamp', { timestamp: 1_700_000_001n }],
    ['beneficiary', { beneficiary: 'Globex' }],
    ['note', { note: 'another' }],
  ])('with another %s than on the network is found', async (name, change) => {
    await store(RECORDS.slice(0, 2));
    await store([{ ...HOLDERS, ...change }]);
    await claim({ note: 'first', index: 0 });
    await claim({ note: 'ours', index: 1 });
    expect(await compare(RECORDS)).toEqual([`I10: record 2 of the token is stored with another ${name}`]);
  });

  it('is missing, unless it waits for the acceptance of its history', async () => {
    await agree();
    await restorable.touch('DELETE FROM retirement_records WHERE index = 2');
    expect(await compare(RECORDS)).toEqual(['I10: record 2 of the token is not stored']);
    expect(await compare(RECORDS, { unstoredFrom: 3 })).toEqual(['I10: record 2 of the token is not stored']);
    expect(await compare(RECORDS, { unstoredFrom: 2 })).toEqual([]);
  });
});

describe('a claim', () => {
  it.each<[string, string]>([
    ['amount', 'amount_tonnes = 6'],
    ['beneficiary', `beneficiary = 'Globex'`],
    ['note', `note = 'another'`],
  ])('of a retirement with another %s is found', async (name, change) => {
    const { ours } = await agree();
    await restorable.touch(`UPDATE retirements SET ${change} WHERE id = '${ours}'`);
    expect(await compare(RECORDS)).toEqual([
      `I4: record 1 of the token is claimed by retirement ${ours} with another ${name}`,
    ]);
  });

  it('of a retirement is found where custody has not retired the record', async () => {
    await store(RECORDS);
    await claim({ note: 'first', index: 0 });
    await claim({ note: 'ours', index: 1 });
    const id = await claim({ note: 'a holder’s', index: 2 });
    expect(await compare(RECORDS)).toEqual([
      `I4: record 2 of the token is claimed by retirement ${id} with another retiredBy`,
    ]);
  });

  it.each<[string, string]>([
    ['amount', `call = jsonb_set(call, '{amount,$integer}', '"1"')`],
    ['beneficiary', `call = call || '{"beneficiary": "Globex"}'`],
    ['note', `call = call || '{"note": "another"}'`],
    ['retiredBy', `holder_address = 'another holder'`],
  ])('of a holder’s act with another %s is found', async (name, change) => {
    const { held } = await agree();
    await restorable.touch(`UPDATE holder_acts SET ${change}`);
    expect(await compare(RECORDS)).toEqual([
      `I4: record 2 of the token is claimed by retirement ${held} with another ${name}`,
    ]);
  });

  it('beside another one is found', async () => {
    const { ours, held } = await agree();
    await restorable.touch(
      `UPDATE holder_acts SET holder_address = '${CUSTODY}', record_index = 1, call = call || '{"note": "ours"}'`,
    );
    expect(await compare(RECORDS)).toEqual([`I4: record 1 of the token is claimed by ${ours} and ${held}`]);
  });
});

describe('a record of custody without a retirement', () => {
  const unknown = (index: number) =>
    `I4: custody's retirement record ${index} belongs to no retirement of this platform`;
  const waits = (index: number, obstacle: string, id: string) =>
    `${obstacle} I4: custody's retirement record ${index} looks like that of a retirement that is not settled, such as ${id}`;

  it('is found, and those of holders are not', async () => {
    await store(RECORDS);
    expect(await compare(RECORDS)).toEqual([unknown(0), unknown(1)]);
  });

  it.each([
    ['PENDING', 'UNDER_WAY'],
    ['NEEDS_REVIEW', 'UNDER_REVIEW'],
  ])('waits for one that is %s', async (state, obstacle) => {
    await store(RECORDS);
    await claim({ note: 'first', index: 0 });
    const id = await claim({ ...PENDING, note: 'ours', state });
    expect(await compare(RECORDS)).toEqual([waits(1, obstacle, id)]);
    expect(await compare(RECORDS, { isStill: true })).toEqual([unknown(1)]);
  });

  it('waits for no refused one, no one of another project, and no one with other facts', async () => {
    await store(RECORDS);
    await claim({ note: 'first', index: 0 });
    await claim({ note: 'ours', index: null, state: 'REFUSED' });
    await claim({ ...PENDING, note: 'ours', projectId: randomUUID() });
    await claim({ ...PENDING, note: 'another' });
    for (const change of ['amount_tonnes = 6', `beneficiary = 'Globex'`]) {
      const id = await claim({ ...PENDING, note: 'ours' });
      await restorable.touch(`UPDATE retirements SET ${change} WHERE id = '${id}'`);
    }
    expect(await compare(RECORDS)).toEqual([unknown(1)]);
  });

  it('is examined however many others are claimed', async () => {
    const claimed = Array.from({ length: 2_000 }, (_, index) => ({ ...FIRST, index }));
    await restorable.touch(`
      INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, record_index, settled_at, created_at)
      SELECT gen_random_uuid(), '${project.id}', 'acme', 'Acme Ltd', 'first', 5, 'RETIRED', n, now(), now() FROM generate_series(0, 1999) AS n`);
    const all = [...claimed, { ...FIRST, index: 2_000 }];
    expect(await compare(all, { unstoredFrom: 0 })).toEqual([unknown(2_000)]);
  });

  it('is found where fewer alike retirements wait than there are such records', async () => {
    const alike = [FIRST, { ...FIRST, index: 1 }, { ...FIRST, index: 2 }];
    await store(alike);
    const id = await claim({ ...PENDING, note: 'first' });
    expect(await compare(alike)).toEqual([unknown(1), unknown(2), waits(0, 'UNDER_WAY', id)]);
    await restorable.touch(
      `UPDATE retirements SET state = 'RETIRED', record_index = 1, tx_hash = 'x', ledger = 1, settled_at = now()`,
    );
    expect(await compare(alike)).toEqual([unknown(0), unknown(2)]);
  });
});

describe('the compared records', () => {
  const leftOut = (before: number) =>
    ['I3', 'I4', 'I10'].map(
      (invariant) => `LEFT_OUT ${invariant}: the records before index ${before} were not read again`,
    );
  const sum = { totalSupply: 0n, totalRetired: 1n, totalRetirements: 3 };
  const wrongSum = `I3: 1 base units were retired, the records sum to ${toBaseUnits(15n)}`;

  it('sum to the retired amount, where all are read', async () => {
    await agree();
    expect(await compare(RECORDS, { totals: sum })).toEqual([wrongSum]);
    expect(await compare(RECORDS, { totals: sum, maxRecords: 3 })).toEqual([wrongSum]);
    expect(await compare(RECORDS, { totals: sum, maxRecords: 2 })).toEqual(leftOut(1));
    expect(await compare(RECORDS, { totals: sum, fromRecord: 1 })).toEqual([]);
  });

  it('are the newest, and in an incremental run those from an index on', async () => {
    const missing = (...indexes: number[]) =>
      indexes.map((index) => `I10: record ${index} of the token is not stored`);
    await claim({ note: 'first', index: 0 });
    await claim({ note: 'ours', index: 1 });
    expect(await compare(RECORDS)).toEqual(missing(0, 1, 2));
    expect(await compare(RECORDS, { maxRecords: 2 })).toEqual([...missing(1, 2), ...leftOut(1)]);
    expect(await compare(RECORDS, { maxRecords: 2, fromRecord: 2 })).toEqual([...missing(2), ...leftOut(1)]);
    expect(await compare(RECORDS, { maxRecords: 1, fromRecord: 1 })).toEqual([...missing(2), ...leftOut(2)]);
    expect(await compare(RECORDS, { fromRecord: Infinity })).toEqual([]);
  });

  it('are named up to fifty times for each reason', async () => {
    const alike = Array.from({ length: 120 }, (_, index) => ({ ...FIRST, index }));
    for (let waiting = 0; waiting < 60; waiting++) await claim({ ...PENDING, note: 'first' });
    const named = await compare(alike);
    const count = (reason: string) => named.filter((text) => text.includes(reason)).length;
    expect(['is not stored', 'belongs to no', 'looks like'].map(count)).toEqual([50, 50, 50]);
  });
});
