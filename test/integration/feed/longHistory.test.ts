/**
 * A long history at its first reading: one transaction stores many pages, and a missing page leaves no gap.
 */
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { retirementRecords } from '../../../src/db/tables/index.ts';
import { countStored } from '../../../src/feed/appendRecords.ts';
import { fillToken } from '../../../src/feed/fillToken.ts';
import {
  NetworkUnavailable,
  type LedgerNetwork,
  type RetirementPage,
} from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { openProject } from '../../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

const RECORDS = 2_450;

let database: TestDatabase;
let platform: Platform;
let token: { projectId: string; tokenAddress: string };
let reads: number[];
let missing: number | null;
/** Changes the page that begins at record 600. */
let spoil: (page: RetirementPage) => RetirementPage = (page) => page;

beforeAll(async () => {
  database = await createTestDatabase();
  platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle));
  await platform.start();
  const { id: projectId, tokenAddress } = await openProject(platform, 100n);
  token = { projectId, tokenAddress };
  await platform.stop();
});
afterAll(() => database.drop());

/** A token whose history is longer than a test could burn. */
function network(): LedgerNetwork {
  const { network: real } = platform.dependencies;
  return {
    ...real,
    async retirementRecords(_tokenAddress, from, limit) {
      reads.push(from);
      if (missing === from) throw new NetworkUnavailable('connection refused');
      const records = Array.from({ length: Math.max(0, Math.min(limit, RECORDS - from)) }, (_, i) => ({
        index: from + i,
        retiredBy: real.custodyAddress,
        amount: toBaseUnits(1n),
        timestamp: 1_700_000_000n,
        beneficiary: 'Acme Ltd',
        note: `#${from + i}`,
      }));
      const totalRetired = toBaseUnits(BigInt(RECORDS));
      const page = { records, totals: { totalSupply: 0n, totalRetired, totalRetirements: RECORDS } };
      return from === 600 ? spoil(page) : page;
    },
  };
}

it('stores what comes before a page without an answer, and goes on from there', async () => {
  const { dependencies } = platform;
  const deps = { ...dependencies.feed, network: network() };
  reads = [];
  missing = 600;
  await expect(fillToken(deps, token)).rejects.toThrow('connection refused');
  expect(await countStored(dependencies.db, token.tokenAddress)).toBe(600);
  // However many records the token says it has, one transaction takes ten pages.
  expect(Math.max(...reads)).toBe(1800);

  reads = [];
  missing = null;
  expect(await fillToken(deps, token)).toMatchObject({ totalRetirements: RECORDS });
  expect(await countStored(dependencies.db, token.tokenAddress)).toBe(RECORDS);
  // Each page once, ten pages in a transaction; and the last stored record, which must still be the token's.
  expect(reads.toSorted((a, b) => a - b)).toEqual([
    599, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400,
  ]);
});

it('is counted by its last record alone', async () => {
  const read = await platform.dependencies.db.transaction(async (tx) => {
    expect(await countStored(tx, token.tokenAddress)).toBe(RECORDS);
    const [row] = await tx.execute<{ entries: number }>(sql`
      SELECT sum(pg_stat_get_xact_tuples_returned(oid))::int AS entries
      FROM (SELECT 'retirement_records'::regclass AS oid
        UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = 'retirement_records'::regclass) relations`);
    return row?.entries;
  });
  expect(read).toBeLessThan(10);
});

it.each<[string, number, typeof spoil]>([
  ['is short', RECORDS, (page) => ({ ...page, records: page.records.slice(0, 50) })],
  [
    'has other records',
    600,
    (page) => ({ ...page, records: page.records.map((one) => ({ ...one, index: one.index + 7 })) }),
  ],
  ['is of a chain that is not accepted', 600, (page) => ({ ...page, rewritten: 'it was rewritten' })],
])('has no gap where a page %s', async (what, stored, spoiled) => {
  const { dependencies } = platform;
  const { db } = dependencies;
  const tokenAddress = `a token whose page ${what}`;
  reads = [];
  missing = null;
  spoil = spoiled;
  await fillToken({ ...dependencies.feed, network: network() }, { ...token, tokenAddress }).catch(() => null);
  spoil = (page) => page;
  const ofToken = eq(retirementRecords.tokenAddress, tokenAddress);
  expect(await db.$count(retirementRecords, ofToken)).toBe(stored);
  expect(await countStored(db, tokenAddress)).toBe(stored);
});

it('is read no further than to a page that its texts fill', async () => {
  const tokenAddress = 'a token with long texts';
  reads = [];
  missing = null;
  const long = network();
  const inParts: LedgerNetwork = {
    ...long,
    retirementRecords: (address, from, limit) => long.retirementRecords(address, from, Math.min(limit, 150)),
  };
  await fillToken({ ...platform.dependencies.feed, network: inParts }, { ...token, tokenAddress });
  expect(await countStored(platform.dependencies.db, tokenAddress)).toBe(RECORDS);
  const starts = Array.from({ length: Math.ceil(RECORDS / 150) }, (_, at) => at * 150);
  const isLast = (from: number) => starts.includes(from + 1);
  expect(reads.filter((from) => !isLast(from))).toEqual(starts);
});
