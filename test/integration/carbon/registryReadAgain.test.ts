/**
 * A registry that is read whole several times: the kept copy never hides a change.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { retirementRecords } from '../../../src/db/tables/index.ts';
import type { FeedRecord } from '../../../src/feed/feedFilter.ts';
import { createHistoryCache } from '../../../src/resolvers/carbon/historyCache.ts';
import { buy, buyer, mutate, newToken, payloadOf } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';

/** More records than are read without being kept. */
const RECORDS = 120;

const acme = buyer('acme');

let market: Marketplace;
let restorable: Restorable;
let tokenAddress: string;

interface Shown {
  index: number;
  note: string;
  leafIndex: number;
  timestamp: number;
  txHash: string | null;
}

async function recordsOf(fields = 'index note leafIndex timestamp txHash'): Promise<Shown[]> {
  const { data, errors } = await market.send<{ registry: { records: Shown[] } }>(
    `query ($tokenAddress: Address!) { registry(tokenAddress: $tokenAddress) { records { ${fields} } } }`,
    { tokenAddress },
  );
  expect(errors).toEqual([]);
  return data?.registry.records ?? [];
}

async function retire(count: number): Promise<void> {
  const retireOne = () =>
    mutate<{ retirement: { state: string } }>(
      market,
      ['retire', 'RetireInput', 'retirement { state }'],
      { tokenAddress, amountCO2e: 1, buyerName: 'Acme' },
      acme,
    );
  const answers = await Promise.all(Array.from({ length: count }, retireOne));
  for (const answer of answers) expect(payloadOf(answer).retirement.state).toBe('RETIRED');
}

beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
  restorable = await makeRestorable(market.database);
  tokenAddress = await newToken(market, { quantityCO2e: 1000 });
  await buy(market, acme.subject, tokenAddress, RECORDS + 1);
  await retire(RECORDS);
});
afterAll(async () => {
  await restorable.close();
  await market.stop();
});

const changeRecord = (index: number, change: string) =>
  restorable.corrupt(`UPDATE retirement_records SET ${change} WHERE index = ${index}`);

it('is answered from what was kept', async () => {
  const first = await recordsOf();
  expect(first.map(({ index }) => index)).toEqual(Array.from({ length: RECORDS }, (_, index) => index));
  // No record can change so; the unchanged answer shows that the records were not read again.
  await changeRecord(3, `note = 'changed'`);
  for (let time = 0; time < 3; time++) expect(await recordsOf()).toEqual(first);
  await changeRecord(3, `note = ''`);
});

it('gives each document its own fields', async () => {
  for (let time = 0; time < 2; time++) {
    expect((await recordsOf('index'))[5]).toEqual({ index: 5 });
    expect((await recordsOf('note index'))[5]).toEqual({ index: 5, note: '' });
  }
});

it('shows a hash that has become known, and another date', async () => {
  const hash = (await recordsOf())[7]?.txHash;
  expect(hash).toMatch(/./);
  await changeRecord(7, 'tx_hash = NULL');
  expect((await recordsOf())[7]?.txHash).toBeNull();
  await changeRecord(7, `tx_hash = '${hash}'`);
  expect((await recordsOf())[7]?.txHash).toBe(hash);

  const before = (await recordsOf())[9]?.timestamp ?? 0;
  await changeRecord(9, 'timestamp = timestamp + 60');
  expect((await recordsOf())[9]?.timestamp).toBe(before + 60);
});

it('shows another place in the transparency log', async () => {
  const before = (await recordsOf())[11]?.leafIndex ?? 0;
  await changeRecord(11, 'position = position + 2147483648');
  expect((await recordsOf())[11]?.leafIndex).toBe(before + 2 ** 31);
  await changeRecord(11, 'position = position - 2147483648');
  expect((await recordsOf())[11]?.leafIndex).toBe(before);
});

it('keeps no list but the one that was asked for', async () => {
  const historyCache = createHistoryCache(market.app.dependencies.publicReads);
  const empty: FeedRecord[] = [];
  const take = (records: FeedRecord[]) =>
    historyCache.take({ tokenAddress: 'of no token', count: RECORDS }, async () => records);
  expect(await take(empty)).toBe(empty);
  const shorter = await market.database.handle.db
    .select()
    .from(retirementRecords)
    .limit(RECORDS - 1);
  expect(await take(shorter)).toBe(shorter);
});

it('shows a further record', async () => {
  await recordsOf();
  await retire(1);
  expect(await recordsOf()).toHaveLength(RECORDS + 1);
});
