/**
 * Which of custody's records an equal burn may have made, from given rows and given answers of a network.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findAlikeBurns } from '../../../src/feed/unclaimedRecords.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Outcome, RetirementRecord } from '../../../src/ledger/network/port.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { createUnclaimedSearch } from '../../../src/resolvers/carbon/findUnclaimedRecord.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';

const CUSTODY = 'custody';
const BURN = { amount: toBaseUnits(5n), beneficiary: 'Acme Ltd', note: 'ours' };
const FOUND = { timestamp: 1_700_000_000n, txHash: null };
const UNDER_WAY = 'An equal burn is under way';

let database: TestDatabase;
let restorable: Restorable;
let projectId: string;
let token: string;
/** The records of each token on the network, in the order of their indexes. */
let onNetwork: Map<string, readonly RetirementRecord[]>;
/** Outcomes by the attempt's hash. */
let outcomes: Map<string, Outcome>;
let beforeAnswer: () => Promise<void>;

beforeAll(async () => {
  database = await createTestDatabase();
  restorable = await makeRestorable(database);
});
beforeEach(async () => {
  token = `C-${randomUUID()}`;
  projectId = await insertProject(database.handle.db, { quantityTonnes: 100_000n, tokenAddress: token });
  onNetwork = new Map();
  outcomes = new Map();
  beforeAnswer = async () => {};
});
afterAll(async () => {
  await restorable.close();
  await database.drop();
});

const recordOf = (index: number, change: Partial<RetirementRecord> = {}): RetirementRecord => ({
  ...BURN,
  index,
  retiredBy: CUSTODY,
  timestamp: 1_700_000_000n,
  ...change,
});

/** Stores records without a claim, with the index as transaction. */
async function store(records: readonly RetirementRecord[], isClaimed = false): Promise<void> {
  for (const { index, retiredBy, amount, timestamp, beneficiary, note } of records) {
    await restorable.touch(`
      UPDATE feed_head SET position = position + 1;
      INSERT INTO retirement_records (position, project_id, token_address, index, retired_by, amount_base_units, timestamp, beneficiary, note, tx_hash, is_claimed, appended_at)
      VALUES ((SELECT position FROM feed_head), '${projectId}', '${token}', ${index}, '${retiredBy}', ${amount}, ${timestamp}, '${beneficiary}', '${note}', 'tx ${index}', ${isClaimed}, now())`);
  }
}

/** Claims the records of the indexes that the SQL lists. */
const claim = (indexes: string, of = projectId) =>
  restorable.touch(`
    INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, record_index, tx_hash, ledger, settled_at, created_at)
    SELECT gen_random_uuid(), '${of}', 'acme', 'Acme Ltd', 'ours', 5, 'RETIRED', n, 'hash', 1, now(), now() FROM (${indexes}) AS i (n)`);

/** Signs `count` equal burns that no record settles. @returns the submission of the last one */
async function sign(
  outcome: Outcome,
  { state = 'PENDING', count = 1, change = '', of = projectId } = {},
): Promise<string> {
  let submissionId = '';
  for (let made = 0; made < count; made++) {
    const id = randomUUID();
    submissionId = randomUUID();
    outcomes.set(submissionId, outcome);
    await restorable.touch(`
      INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, created_at)
      VALUES ('${id}', '${of}', 'acme', 'Acme Ltd', 'ours', 5, '${state}', now());
      ${change === '' ? '' : `UPDATE retirements SET ${change} WHERE id = '${id}';`}
      INSERT INTO submissions (id, kind, target_type, target_id, call, signer, state, due_at, created_at)
      VALUES ('${submissionId}', 'retire', 'RETIREMENT', '${id}', '{}', 'CUSTODY', 'PENDING', now(), now());
      INSERT INTO attempts (hash, submission_id, number, state, source, signed_bytes, prepared_at_ledger, created_at)
      VALUES ('${submissionId}', '${submissionId}', 1, 'OPEN', 'a', 'x', 1, now())`);
  }
  return submissionId;
}

const PENDING: Outcome = { status: 'pending' };
const UNPROVABLE = { status: 'undeterminable' } as Outcome;
const landedAs = (retirementIndex: number) =>
  ({ status: 'succeeded', result: { kind: 'retired', retirementIndex } }) as Outcome;

function createSearch() {
  const network = {
    custodyAddress: CUSTODY,
    normalizeAddress: (address: string) => address,
    retirementRecords: async (address: string, from: number, limit: number) => {
      await beforeAnswer();
      const records = onNetwork.get(address);
      if (records === undefined) throw new NetworkUnavailable('connection refused');
      const totals = { totalSupply: 0n, totalRetired: 0n, totalRetirements: records.length };
      return { totals, records: records.slice(from, from + limit) };
    },
    outcome: async ({ hash }: { hash: string }) => outcomes.get(hash),
  };
  const { db } = database.handle;
  const search = createUnclaimedSearch({
    db,
    network,
    clock: systemClock,
    feedSignal: { notify: () => {} },
  } as never);
  return (
    change: Partial<typeof BURN> & { tokenAddress?: string } = {},
    submissionId: string = randomUUID(),
  ) => search({ kind: 'retire', tokenAddress: token, ...BURN, ...change }, submissionId);
}

/** Searches while the network has as many records as are stored. */
async function find(records: readonly RetirementRecord[], submissionId?: string) {
  onNetwork.set(token, records);
  return createSearch()({}, submissionId);
}

const OTHERS: [string, Partial<RetirementRecord>][] = [
  ['of another account', { retiredBy: 'a holder' }],
  ['of another amount', { amount: toBaseUnits(6n) }],
  ['for another beneficiary', { beneficiary: 'Globex' }],
  ['with another note', { note: 'another' }],
];

describe('a record', () => {
  it.each(OTHERS)('%s is not that of the burn, one after it is', async (_, change) => {
    const records = [recordOf(0, change), recordOf(1)];
    expect(await find(records)).toEqual({ ...FOUND, index: 1 });
    await store(records);
    expect(await find(records)).toEqual({ ...FOUND, index: 1, txHash: 'tx 1' });
  });

  it('of another token is not that of the burn', async () => {
    await store([recordOf(0)]);
    token = `C-${randomUUID()}`;
    projectId = await insertProject(database.handle.db, { quantityTonnes: 100n, tokenAddress: token });
    expect(await find([])).toBeNull();
  });

  it('that is marked as claimed is not asked about', async () => {
    await store([recordOf(0)], true);
    await store([recordOf(1)]);
    expect(await find([recordOf(0), recordOf(1)])).toMatchObject({ index: 1 });
  });

  it('that a retirement claims is that of no other burn, marked or not, stored or not', async () => {
    const records = [recordOf(0), recordOf(1)];
    await claim('SELECT 0 UNION SELECT 1');
    expect(await find(records)).toBeNull();
    await store(records);
    expect(await find(records)).toBeNull();
  });

  it('is found where a retirement of another project claims the same index', async () => {
    await claim('SELECT 0', await insertProject(database.handle.db, { quantityTonnes: 100n }));
    expect(await find([recordOf(0)])).toMatchObject({ index: 0 });
    await store([recordOf(0)]);
    expect(await find([recordOf(0)])).toMatchObject({ index: 0 });
  });

  it('with the lowest index is found, stored or not', async () => {
    const records = [recordOf(0), recordOf(1), recordOf(2)];
    await store([recordOf(1), recordOf(0)]);
    expect(await find(records)).toMatchObject({ index: 0 });
  });

  it('that is stored while it is read is found with its transaction', async () => {
    beforeAnswer = () => store([recordOf(0)]);
    expect(await find([recordOf(0)])).toEqual({ ...FOUND, index: 0, txHash: 'tx 0' });
  });

  it('is found behind any number that retirements claim', async () => {
    const records = Array.from({ length: 2_002 }, (_, index) => recordOf(index));
    await store(records);
    await claim('SELECT generate_series(0, 2000)');
    expect(await find(records)).toMatchObject({ index: 2_001 });
  });

  it('with the lowest index is found beside any number of equal ones', async () => {
    const records = Array.from({ length: 2_002 }, (_, index) => recordOf(index));
    await store(records.toReversed());
    expect(await find(records)).toMatchObject({ index: 0 });
  });

  it('at the end of a long history is found, which is stored first', async () => {
    const others = Array.from({ length: 2_000 }, (_, index) => recordOf(index, { note: 'another' }));
    expect(await find([...others, recordOf(2_000)])).toMatchObject({ index: 2_000 });
  });

  it('is not taken from an answer to another question', async () => {
    await expect(find([recordOf(1)])).rejects.toThrow(NetworkUnavailable);
  });
});

it('the feed answers about the burns of a question alone, however many records equal them', async () => {
  await store([recordOf(0), recordOf(1), ...OTHERS.map(([, change], at) => recordOf(2 + at, change))]);
  const of = { projectId, tokenAddress: token, custodyAddress: CUSTODY, burns: [BURN] };
  expect(await findAlikeBurns(database.handle.db, of)).toEqual([BURN]);
});

describe('concurrent questions', () => {
  it.each(OTHERS.slice(1))('%s each have their own answer', async (_, change) => {
    onNetwork.set(token, [recordOf(0)]);
    const search = createSearch();
    expect(await Promise.all([search(change), search(), search(change)])).toMatchObject([
      null,
      { index: 0 },
      null,
    ]);
  });

  it('about a token that the network does not answer about leave those about others answered', async () => {
    onNetwork.set(token, [recordOf(0)]);
    const silent = `C-${randomUUID()}`;
    await insertProject(database.handle.db, { quantityTonnes: 100n, tokenAddress: silent });
    const search = createSearch();
    const answers = await Promise.allSettled([
      search({ tokenAddress: silent }),
      search({ tokenAddress: 'of no project' }),
      search(),
    ]);
    expect(answers).toMatchObject([
      { reason: { message: 'connection refused' } },
      { value: null },
      { value: { index: 0 } },
    ]);
  });
});

describe('an equal burn', () => {
  it.each(['PENDING', 'NEEDS_REVIEW'])('that is %s and landed has its own record', async (state) => {
    await store([recordOf(0), recordOf(1)]);
    await sign(landedAs(0), { state });
    expect(await find([recordOf(0), recordOf(1)])).toMatchObject({ index: 1 });
  });

  it.each(['PENDING', 'NEEDS_REVIEW'])(
    'that is %s and can land leaves the record undecided',
    async (state) => {
      const own = await sign(PENDING, { state });
      await expect(find([recordOf(0)])).rejects.toThrow(UNDER_WAY);
      expect(await find([recordOf(0)], own)).toMatchObject({ index: 0 });
    },
  );

  it('without a provable outcome leaves the record undecided only for a burn that has no attempt', async () => {
    await sign(UNPROVABLE);
    await expect(find([recordOf(0)])).rejects.toThrow(UNDER_WAY);
    expect(await find([recordOf(0)], await sign(PENDING))).toMatchObject({ index: 0 });
  });

  it.each([
    ['of another amount', 'amount_tonnes = 6'],
    ['for another beneficiary', `beneficiary = 'Globex'`],
    ['with another note', `note = 'another'`],
    ['of another project', `project_id = gen_random_uuid()`],
  ])('is none %s', async (_, change) => {
    await sign(PENDING, { change });
    expect(await find([recordOf(0)])).toMatchObject({ index: 0 });
  });

  it('has no outcome to come after its attempt died', async () => {
    const id = await sign(PENDING);
    await restorable.touch(
      `UPDATE attempts SET state = 'DEAD', decided_at = now(), evidence = 'EXPIRED' WHERE hash = '${id}'`,
    );
    expect(await find([recordOf(0)])).toMatchObject({ index: 0 });
  });

  it('beside two thousand others leaves the record undecided until some are settled', async () => {
    await sign(landedAs(1), { count: 2_000 });
    expect(await find([recordOf(0)])).toMatchObject({ index: 0 });
    await sign(landedAs(1));
    await expect(find([recordOf(0)])).rejects.toThrow('More than 2000 equal burns are under way');
  });
});
