/**
 * The retirement records of all tokens, and their totals.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/db/connection.ts';
import { readRetirementTotals } from '../../../src/resolvers/carbon/readRetirementTotals.ts';
import { startMarketplace, type Answer, type Marketplace } from '../../support/http/marketplace.ts';
import { seedRecords, type SeededProject } from '../../support/database/records.ts';

const DAY = 86_400;
/** A Monday at midnight UTC. */
const START = 1_700_438_400;

/** The name as the platform stores it, and as another program wrote it. */
const SPELLINGS: Record<number, string> = { 11: 'Caf\u00e9', 13: 'Cafe\u0301' };
/** Some networks write 0x. */
const HASHES: Record<number, string> = { 3: `0x${'ab'.repeat(32)}`, 4: 'cd'.repeat(32) };

let market: Marketplace;
/** BR in 2020, KE in 2021, KE in 2022. */
let projects: SeededProject[];

beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
  projects = await seedRecords(market.database.handle, {
    projects: [
      { countryCode: 'BR', vintageYear: 2020 },
      { countryCode: 'KE', vintageYear: 2021 },
      { countryCode: 'KE', vintageYear: 2022 },
    ],
    // Three records a day, one of each project in turn.
    records: Array.from({ length: 30 }, (_, i) => ({
      project: i % 3,
      timestamp: START + Math.floor(i / 3) * DAY + (i % 3) * 3600,
      tonnes: i + 1,
      beneficiary: i % 5 === 0 ? 'Acme' : (SPELLINGS[i] ?? `Other ${i}`),
      txHash: HASHES[i] ?? null,
    })),
  });
});
afterAll(() => market.stop());

interface RecordPage {
  totalCount: number;
  nodes: { note: string }[];
  pageInfo: { endCursor: string; startCursor: string; hasNextPage: boolean; hasPreviousPage: boolean };
}

/** The records' numbers, taken from their notes, over all pages forwards or backwards. */
async function numbersOf(filter: object, { size = 4, backwards = false } = {}) {
  const [count, cursor] = backwards ? ['last', 'before'] : ['first', 'after'];
  const numbers: number[] = [];
  for (let at: string | null = null; ;) {
    const answer: Answer<{ retirementRecords: RecordPage }> = await market.send(
      `query ($size: Int!, $at: String, $filter: RetirementRecordFilter) {
        retirementRecords(${count}: $size, ${cursor}: $at, filter: $filter) {
          totalCount nodes { note } pageInfo { endCursor startCursor hasNextPage hasPreviousPage }
        }
      }`,
      { size, at, filter },
    );
    expect(answer.errors).toEqual([]);
    const page: RecordPage | undefined = answer.data?.retirementRecords;
    const nodes = page?.nodes.map(({ note }) => Number(note)) ?? [];
    if (backwards) numbers.unshift(...nodes);
    else numbers.push(...nodes);
    const goesOn = backwards ? page?.pageInfo.hasPreviousPage : page?.pageInfo.hasNextPage;
    if (goesOn !== true) {
      expect(page?.totalCount).toBe(numbers.length);
      return numbers;
    }
    at = (backwards ? page?.pageInfo.startCursor : page?.pageInfo.endCursor) ?? null;
  }
}

const newestFirst = (keep: (i: number) => boolean) =>
  Array.from({ length: 30 }, (_, i) => 29 - i).filter((i) => keep(i));

describe('retirementRecords', () => {
  const cases: [string, () => object, (i: number) => boolean][] = [
    ['all', () => ({}), () => true],
    ['of a beneficiary', () => ({ beneficiaries: ['Acme'] }), (i) => i % 5 === 0],
    [
      'of two, one named twice',
      () => ({ beneficiaries: ['Acme', 'Other 7', 'Acme'] }),
      (i) => i % 5 === 0 || i === 7,
    ],
    [
      'of a name in another form and with spaces, as `retire` takes it',
      () => ({ beneficiaries: [' Cafe\u0301 '] }),
      (i) => i === 11,
    ],
    [
      'of a name as others and the platform write it',
      () => ({ beneficiaries: ['Cafe\u0301', 'Caf\u00e9'] }),
      (i) => i === 11 || i === 13,
    ],
    ['of a name as the platform writes it', () => ({ beneficiaries: ['Caf\u00e9'] }), (i) => i === 11],
    [
      'of as many names as may be, each in two spellings',
      () => ({ beneficiaries: Array.from({ length: 20 }, (_, i) => `${' '.repeat(i)}Cafe\u0301`) }),
      (i) => i === 11 || i === 13,
    ],
    ['of a token', () => ({ tokenAddresses: [projects[1]?.tokenAddress] }), (i) => i % 3 === 1],
    [
      'of two tokens',
      () => ({ tokenAddresses: projects.slice(0, 2).map((p) => p.tokenAddress) }),
      (i) => i % 3 < 2,
    ],
    ['of a country', () => ({ countryCodes: ['KE'] }), (i) => i % 3 > 0],
    [
      'of a country and a vintage',
      () => ({ countryCodes: ['KE'], vintageYears: [2022, 2020] }),
      (i) => i % 3 === 2,
    ],
    [
      'of a time, its end excluded',
      () => ({ from: START + DAY, until: START + 3 * DAY }),
      (i) => i >= 3 && i < 9,
    ],
    [
      'of all at once',
      () => ({ beneficiaries: ['Acme'], countryCodes: ['KE'], from: START + DAY }),
      (i) => i % 5 === 0 && i % 3 > 0 && i >= 3,
    ],
    ['of no beneficiary', () => ({ beneficiaries: [] }), () => false],
    ['of no country', () => ({ countryCodes: [] }), () => false],
    ['of a token elsewhere', () => ({ tokenAddresses: ['nowhere'] }), () => false],
  ];

  it.each(cases)('lists those %s, newest first', async (_what, filter, keep) => {
    const expected = newestFirst(keep);
    expect(await numbersOf(filter())).toEqual(expected);
    expect(await numbersOf(filter(), { size: 7, backwards: true })).toEqual(expected);
  });

  it.each([
    ['a cursor of another list', { after: 'bm9uc2Vuc2U' }],
    ['too many beneficiaries', { filter: { beneficiaries: Array.from({ length: 21 }, (_, i) => `b${i}`) } }],
    ['what no text holds', { filter: { beneficiaries: ['a\u0000b'] } }],
    ['too many countries', { filter: { countryCodes: Array.from({ length: 101 }, () => 'KE') } }],
  ])('refuses %s', async (_what, variables) => {
    const { errors } = await market.send(
      `query ($after: String, $filter: RetirementRecordFilter) {
        retirementRecords(after: $after, filter: $filter) { nodes { note } }
      }`,
      variables,
    );
    expect(errors[0]?.extensions.code).toBe('BAD_USER_INPUT');
  });
});

it('are in the feed of a name in another form', async () => {
  const stream = market.socket().iterate<{ retirementFeed: { record: { note: string } } }>({
    query: `subscription ($name: String!) {
      retirementFeed(after: "0", filter: { beneficiaries: [$name] }) { record { note } }
    }`,
    variables: { name: 'Cafe\u0301' },
  });
  const notes = [await stream.next(), await stream.next()].map(
    ({ value }) => (value as Answer<{ retirementFeed: { record: { note: string } } }>).data,
  );
  await stream.return?.();
  expect(notes).toEqual(['11', '13'].map((note) => ({ retirementFeed: { record: { note } } })));
});

interface Total {
  day: string | null;
  project: { id: string } | null;
  countryCode: string | null;
  vintageYear: number | null;
  tonnes: string;
  retirementCount: number;
}

interface TotalPage {
  totalCount: number;
  nodes: Total[];
  pageInfo: { endCursor: string; hasNextPage: boolean };
}

/** The groups' names with tonnes and retirements, read in pages of two. */
async function totalsOf(groupBy: string, filter: object = {}) {
  const totals: [unknown, number, number][] = [];
  for (let after: string | null = null; ;) {
    const answer: Answer<{ retirementTotals: TotalPage }> = await market.send(
      `query ($groupBy: RetirementGroup!, $filter: RetirementRecordFilter, $after: String) {
        retirementTotals(groupBy: $groupBy, filter: $filter, first: 2, after: $after) {
          totalCount
          nodes { day project { id } countryCode vintageYear tonnes retirementCount }
          pageInfo { endCursor hasNextPage }
        }
      }`,
      { groupBy, filter, after },
    );
    expect(answer.errors).toEqual([]);
    const page: TotalPage | undefined = answer.data?.retirementTotals;
    for (const { day, project, countryCode, vintageYear, tonnes, retirementCount } of page?.nodes ?? []) {
      totals.push([day ?? project?.id ?? countryCode ?? vintageYear, Number(tonnes), retirementCount]);
    }
    if (page?.pageInfo.hasNextPage !== true) {
      expect(page?.totalCount).toBe(totals.length);
      return totals;
    }
    after = page.pageInfo.endCursor;
  }
}

/** The expected totals, added up by the test. */
function addUp(keyOf: (i: number) => unknown, keep: (i: number) => boolean = () => true) {
  const sums = new Map<unknown, [number, number]>();
  for (let i = 0; i < 30; i++) {
    if (!keep(i)) continue;
    const [tonnes, retirements] = sums.get(keyOf(i)) ?? [0, 0];
    sums.set(keyOf(i), [tonnes + i + 1, retirements + 1]);
  }
  return [...sums].map(([key, sum]) => [key, ...sum]);
}

const calendarDay = (unixSeconds: number) => new Date(unixSeconds * 1000).toISOString().slice(0, 10);
const dayOf = (i: number) => calendarDay(START + Math.floor(i / 3) * DAY);
const countryOf = (i: number) => (i % 3 === 0 ? 'BR' : 'KE');
const vintageOf = (i: number) => 2020 + (i % 3);
const projectOf = (i: number) => projects[i % 3]?.globalId;

describe('retirementTotals', () => {
  const groups = { DAY: dayOf, PROJECT: projectOf, COUNTRY: countryOf, VINTAGE: vintageOf };
  const filters: [string, () => object, (i: number) => boolean][] = [
    ['everything', () => ({}), () => true],
    ['a time', () => ({ from: START + 2 * DAY, until: START + 5 * DAY }), (i) => i >= 6 && i < 15],
    ['a country', () => ({ countryCodes: ['KE'] }), (i) => i % 3 > 0],
    [
      'a vintage, from a day on',
      () => ({ vintageYears: [2021], from: START + 4 * DAY }),
      (i) => i % 3 === 1 && i >= 12,
    ],
    [
      'a country and a vintage',
      () => ({ countryCodes: ['KE'], vintageYears: [2020, 2022] }),
      (i) => i % 3 === 2,
    ],
    ['a token', () => ({ tokenAddresses: [projects[0]?.tokenAddress] }), (i) => i % 3 === 0],
    ['a beneficiary', () => ({ beneficiaries: ['Acme'] }), (i) => i % 5 === 0],
    [
      'a beneficiary in a country, from an hour on',
      () => ({ beneficiaries: ['Acme', 'Other 4'], countryCodes: ['KE'], from: START + DAY + 3600 }),
      (i) => (i % 5 === 0 || i === 4) && i % 3 > 0 && i >= 4,
    ],
    ['a name in another form', () => ({ beneficiaries: ['Cafe\u0301'] }), (i) => i === 11 || i === 13],
    ['nothing', () => ({ beneficiaries: [] }), () => false],
  ];

  it('are written anew only where a change of records moves them', async () => {
    const { sql } = market.database.handle;
    const versions = () => sql`SELECT xmin::text, ctid::text FROM retirement_totals ORDER BY ctid`;
    const before = await versions();
    expect(before.length).toBeGreaterThan(0);
    await sql`UPDATE retirement_records SET is_claimed = is_claimed`;
    expect(await versions()).toEqual(before);
  });

  it.each(filters)('adds up %s', async (_what, filter, keep) => {
    for (const [groupBy, keyOf] of Object.entries(groups)) {
      const byKey = (a: unknown[], b: unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1);
      const totals = await totalsOf(groupBy, filter());
      expect([...totals].sort(byKey), groupBy).toEqual(addUp(keyOf, keep).sort(byKey));
      const ordered = totals.map(([key, tonnes]) => (groupBy === 'DAY' ? Date.parse(String(key)) : tonnes));
      expect(ordered, groupBy).toEqual([...ordered].sort((a, b) => b - a));
    }
  });

  it.each([
    ['an amount that is no number', 'COUNTRY', ['retirementTotals:COUNTRY', '1e9', 'KE']],
    ['a day that is no number', 'DAY', ['retirementTotals:DAY', '2026-01-01', '2026-01-01']],
    ['an amount that no token holds', 'VINTAGE', ['retirementTotals:VINTAGE', '9'.repeat(79), '2024']],
    ['what is no key', 'COUNTRY', ['retirementTotals:COUNTRY', '1', 'K\u0000']],
    ['another grouping', 'DAY', ['retirementTotals:COUNTRY', '1', 'KE']],
  ])('refuses a cursor with %s', async (_what, groupBy, parts) => {
    const after = Buffer.from(JSON.stringify(parts)).toString('base64url');
    const { errors } = await market.send(
      `query ($after: String) { retirementTotals(groupBy: ${groupBy}, after: $after) { nodes { tonnes } } }`,
      { after },
    );
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'after' });
  });

  it('refuses a time within a day', async () => {
    const { errors } = await market.send(
      `{ retirementTotals(groupBy: DAY, filter: { until: ${START + 1} }) { nodes { tonnes } } }`,
    );
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'filter.until' });
  });

  it('counts a record that is dated anew on its new day', async () => {
    const { db } = market.database.handle;
    // A record may change only while signing is halted.
    await db.execute(
      sql`INSERT INTO signing_accounts (address, next_sequence, halted_because) VALUES ('a', 1, 'rolled back')`,
    );
    await db.execute(sql`UPDATE retirement_records SET timestamp = timestamp + ${20 * DAY} WHERE note = '0'`);
    const moved = (i: number) => (i === 0 ? calendarDay(START + 20 * DAY) : dayOf(i));
    for (const [filter, keep] of [
      [{}, () => true],
      [{ countryCodes: ['BR'] }, (i: number) => i % 3 === 0],
      [{ vintageYears: [2020] }, (i: number) => i % 3 === 0],
      [{ tokenAddresses: [projects[0]?.tokenAddress] }, (i: number) => i % 3 === 0],
    ] as const) {
      const expected = addUp(moved, keep).sort((a, b) => Date.parse(String(b[0])) - Date.parse(String(a[0])));
      expect(await totalsOf('DAY', filter)).toEqual(expected);
    }
    expect(await totalsOf('VINTAGE')).toEqual(addUp(vintageOf).sort((a, b) => Number(b[1]) - Number(a[1])));
  });
});

it.each([
  ['ab'.repeat(32), 3],
  [`0x${'ab'.repeat(32)}`, 3],
  [`0x${'AB'.repeat(32)}`, 3],
  ['CD'.repeat(32), 4],
  [`0x${'cd'.repeat(32)}`, 4],
])(
  'finds the record of transaction %s, however its network and the caller write it',
  async (txHash, number) => {
    const { data } = await market.send(
      'query ($txHash: String!) { retirementRecordsByTransaction(txHash: $txHash) { note } }',
      { txHash },
    );
    expect(data).toEqual({ retirementRecordsByTransaction: [{ note: String(number) }] });
  },
);

it.each(['x', `0x${'ab'.repeat(31)}`, 'ab'.repeat(33)])('says that %s is no hash', async (txHash) => {
  const { errors } = await market.send(
    'query ($txHash: String!) { retirementRecordsByTransaction(txHash: $txHash) { note } }',
    { txHash },
  );
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
});

it('finds a project by its asset id, whatever the letter case, and where the feed ends', async () => {
  const assetId = projects[1]?.id.toUpperCase();
  const { data } = await market.send(
    `query ($assetId: String!) {
      projects(filter: { assetIds: [$assetId] }) { nodes { id } }
      retirementFeedCursor
      retirementRecordsByTransaction(txHash: "0x${'0'.repeat(64)}") { id }
    }`,
    { assetId },
  );
  expect(data).toEqual({
    projects: { nodes: [{ id: projects[1]?.globalId }] },
    retirementFeedCursor: expect.stringMatching(/^30\.[0-9a-f]{8}$/) as string,
    retirementRecordsByTransaction: [],
  });
});

describe('of a beneficiary with more retirements than are added up', () => {
  beforeAll(async () => {
    const insertion = sql`
      INSERT INTO retirement_records
      SELECT (jsonb_populate_record(r, jsonb_build_object('position', 100 + i, 'index', 100 + i,
        'timestamp', (i % 10001)::bigint * 86400, 'beneficiary', CASE WHEN i <= 50000 THEN 'Many' ELSE 'As many' END))).*
      FROM retirement_records r, generate_series(0, 100001) AS i WHERE r.note = '29'`;
    // On a busy machine it takes longer than the server's own statements are allowed to.
    await market.database.handle.db.transaction((tx) => tx.execute(insertion), {
      statementTimeoutMs: 60_000,
    });
  });

  it.each(['nodes { tonnes }', 'totalCount'])('refuses %s', async (selection) => {
    const { errors } = await market.send(
      `{ retirementTotals(groupBy: DAY, filter: { beneficiaries: ["Many"] }) { ${selection} } }`,
    );
    expect(errors[0]?.extensions).toMatchObject({ code: 'RESULT_TOO_LARGE', limit: 50_000 });
  });

  it('refuses a page behind the last group that it has read', async () => {
    const totals = readRetirementTotals(market.app.dependencies, 'DAY', { beneficiaries: ['Many'] });
    const after = { value: '-1', key: '-1' };
    await expect(totals.list({ limit: 1, inverted: false, after })).rejects.toMatchObject({
      code: 'RESULT_TOO_LARGE',
    });
  });

  it('reads no more records of several than of one', async () => {
    const { db } = market.database.handle;
    const [row] = await db.transaction(async (tx) => {
      const publicReads = {
        ...market.app.dependencies.publicReads,
        run: (work: (db: Db) => unknown) => work(tx),
      };
      const deps = { ...market.app.dependencies, publicReads } as typeof market.app.dependencies;
      const totals = readRetirementTotals(deps, 'VINTAGE', { beneficiaries: ['Many', 'As many'] });
      await expect(totals.list({ limit: 1, inverted: false })).rejects.toMatchObject({
        code: 'RESULT_TOO_LARGE',
      });
      return tx.execute<{ read: number }>(sql`SELECT (seq_tup_read + idx_tup_fetch)::int AS read
        FROM pg_stat_xact_user_tables WHERE relname = 'retirement_records'`);
    });
    expect(row?.read).toBeLessThan(75_000);
  });

  it('counts groups as far as the contract says', async () => {
    const { data } = await market.send<{ retirementTotals: { totalCount: number } }>(
      '{ retirementTotals(groupBy: DAY, first: 1) { totalCount } }',
    );
    expect(data?.retirementTotals.totalCount).toBe(10_000);
  });
});
