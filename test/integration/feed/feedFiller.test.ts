/**
 * The feed filler with misbehaving tokens: no token keeps another's retirements out of the feed.
 */
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Platform } from '../../../src/startup/compose.ts';
import { indexerEvents, retirementRecords } from '../../../src/db/tables/index.ts';
import { countStored } from '../../../src/feed/appendRecords.ts';
import { createFeedFiller, type FeedFiller } from '../../../src/feed/feedFiller.ts';
import { completeHinted, completeNext, verifyHints } from '../../../src/feed/recordTransactions.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { seedRecords } from '../../support/database/records.ts';
import { openProject, silentLog } from '../../../devnet/platform.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';
import { prepare } from '../../../devnet/calls.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let end: StartedPlatform['end'];
let feedFiller: FeedFiller;

beforeEach(async () => {
  ({ database, network, platform, end } = await startPlatform());
});
afterEach(async () => {
  await feedFiller.stop();
  await end();
});

const tokenOf = ({ id: projectId, tokenAddress }: TokenizedProject) => ({ projectId, tokenAddress });

function fillerOn(overrides: Partial<EmbeddedNetwork>): FeedFiller {
  const feed = { ...platform.dependencies.feed, network: { ...network, ...overrides } };
  return createFeedFiller({ ...feed, log: silentLog, feedCompareIntervalMs: 600_000 });
}

async function burn({ tokenAddress }: TokenizedProject): Promise<void> {
  const call = { kind: 'retire', tokenAddress, amount: toBaseUnits(1n), beneficiary: 'b', note: '' } as const;
  await network.broadcast((await prepare(network, call)).signedBytes);
}

it('fills a quiet token while others are requested without a pause', async () => {
  const projects = await Promise.all(Array.from({ length: 5 }, () => openProject(platform, 5n)));
  const [quiet, ...busy] = projects as [TokenizedProject, ...TokenizedProject[]];
  await burn(quiet);
  const busyTokens = new Map(busy.map((project) => [project.tokenAddress, tokenOf(project)]));
  feedFiller = fillerOn({
    async retirementRecords(address, from, limit) {
      const page = await network.retirementRecords(address, from, limit);
      const token = busyTokens.get(address);
      if (token) feedFiller.requestFill(token);
      return page;
    },
  });
  for (const token of busyTokens.values()) feedFiller.requestFill(token);
  feedFiller.requestFill(tokenOf(quiet));
  await vi.waitFor(async () => expect(await countStored(database.handle.db, quiet.tokenAddress)).toBe(1), {
    timeout: 20_000,
  });
});

it('fills once more what was asked for while it was being filled', async () => {
  const project = await openProject(platform, 5n);
  await burn(project);
  let isFirst = true;
  feedFiller = fillerOn({
    async retirementRecords(address, from, limit) {
      const page = await network.retirementRecords(address, from, limit);
      if (!isFirst) return page;
      isFirst = false;
      await burn(project);
      feedFiller.requestFill(tokenOf(project));
      return page;
    },
  });
  feedFiller.requestFill(tokenOf(project));
  await expect.poll(() => countStored(database.handle.db, project.tokenAddress)).toBe(2);
});

it('goes on with its rounds and fills once the database is back', async () => {
  const { feed } = platform.dependencies;
  const project = await openProject(platform, 5n);
  await burn(project);
  let isAway = true;
  const db = new Proxy(feed.db, {
    get(target, name) {
      if (isAway) throw new Error('the database is away');
      return Reflect.get(target, name) as unknown;
    },
  });
  const warnings: unknown[] = [];
  const log = new Proxy(silentLog, {
    get: (target, name) =>
      name === 'warn'
        ? (_: unknown, message: unknown) => void warnings.push(message)
        : (Reflect.get(target, name) as unknown),
  });
  feedFiller = createFeedFiller({ ...feed, db, log, feedCompareIntervalMs: 600_000 });
  await feedFiller.round();
  expect(warnings).toEqual(['feed round failed', 'transactions of records not looked up']);
  feedFiller.requestFill(tokenOf(project));
  await expect.poll(() => warnings).toHaveLength(4);
  expect(warnings.slice(2)).toEqual(['feed not filled', 'transactions of records not looked up']);
  isAway = false;
  feedFiller.requestFill(tokenOf(project));
  await expect.poll(() => countStored(feed.db, project.tokenAddress)).toBe(1);
});

it('asks ever more rarely about transactions that the network does not name, and at once after a failure', async () => {
  let answer: 'nothing' | 'an error' | 'a hash' = 'nothing';
  let asked = false;
  feedFiller = fillerOn({
    async retirementTransactions(_address, wanted) {
      asked = true;
      if (answer === 'an error') throw new NetworkUnavailable('connection refused');
      return new Map(answer === 'nothing' ? [] : wanted.map(({ index }) => [index, 'a hash']));
    },
  });
  const project = await openProject(platform, 5n);
  await burn(project);
  /** The rounds, counted from 1, that asked. */
  const roundsThatAsk = async (rounds: number) => {
    const asking: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      asked = false;
      await feedFiller.round();
      if (asked) asking.push(round);
    }
    return asking;
  };
  // A pass ends with the round after the one that asked.
  expect(await roundsThatAsk(51)).toEqual([1, 4, 9, 18, 35]);
  answer = 'an error';
  expect(await roundsThatAsk(4)).toEqual([1, 3]);
  answer = 'a hash';
  expect(await roundsThatAsk(2)).toEqual([1]);
  answer = 'nothing';
  await burn(project);
  expect(await roundsThatAsk(4)).toEqual([1, 4]);
});

it('looks up the records of four tokens at a time, and each record once in a pass', async () => {
  const { db } = database.handle;
  feedFiller = fillerOn({});
  const first = 1_700_000_000;
  const rows = Array.from({ length: 120 }, (_, i) => ({ project: i % 6, timestamp: first + i }));
  await seedRecords(database.handle, {
    projects: Array.from({ length: 6 }, () => ({ countryCode: 'KE', vintageYear: 2024 })),
    records: rows.map((row) => ({ ...row, tonnes: 1, beneficiary: 'Acme' })),
  });
  const seen: number[] = [];
  const calls: number[] = [];
  const retirementTransactions: EmbeddedNetwork['retirementTransactions'] = async (_address, wanted) => {
    calls[calls.length - 1] = (calls.at(-1) ?? 0) + 1;
    seen.push(...wanted.map(({ timestamp }) => Number(timestamp) - first));
    return new Map();
  };
  let after: bigint | null = 0n;
  while (after !== null) {
    calls.push(0);
    ({ next: after } = await completeNext({ db, network: { retirementTransactions } }, after));
  }
  expect(seen.toSorted((a, b) => a - b)).toEqual(rows.map((_, i) => i));
  expect(Math.max(...calls)).toBe(4);
});

it('goes on with its round behind tokens that can not be compared', async () => {
  const projects = await Promise.all([openProject(platform, 5n), openProject(platform, 5n)]);
  const [first, last] = projects.sort((a, b) => (a.tokenAddress < b.tokenAddress ? -1 : 1));
  if (!first || !last) throw new Error('there are two projects');
  await burn(last);
  feedFiller = createFeedFiller({
    ...platform.dependencies.feed,
    network: {
      ...network,
      async retirementCountsOf(addresses) {
        if (addresses.includes(first.tokenAddress)) throw new NetworkUnavailable('the node chokes on it');
        return network.retirementCountsOf(addresses);
      },
    },
    log: silentLog,
    feedCompareIntervalMs: 600_000,
    tokensPerRead: 1,
  });
  await feedFiller.round();
  expect(await countStored(database.handle.db, last.tokenAddress)).toBe(1);
});

it('looks up the transactions of records behind a token whose transactions can not be looked up', async () => {
  const projects = await Promise.all([openProject(platform, 5n), openProject(platform, 5n)]);
  for (const project of projects) await burn(project);
  let bad: string | null = null;
  feedFiller = fillerOn({
    async retirementTransactions(address, wanted) {
      bad ??= address;
      if (address === bad) throw new NetworkUnavailable('the node chokes on it');
      return network.retirementTransactions(address, wanted);
    },
  });
  await feedFiller.round();
  const records = await database.handle.db.select().from(retirementRecords);
  expect(records).toHaveLength(2);
  for (const { tokenAddress, txHash } of records) expect(txHash !== null).toBe(tokenAddress !== bad);
});

it('deletes hints that nothing asks for any more: of records whose transactions are known, and of a week ago', async () => {
  const { db } = database.handle;
  const project = await openProject(platform, 5n);
  const { tokenAddress } = project;
  await burn(project);
  feedFiller = fillerOn({});
  await feedFiller.round();
  expect(await db.select().from(retirementRecords)).toMatchObject([{ index: 0, txHash: expect.any(String) }]);
  const hint = (id: string, recordIndex: number, days: number) => ({
    id,
    tokenAddress,
    recordIndex,
    txHash: 'a hash',
    receivedAt: sql`now() - make_interval(days => ${days})`,
  });
  await db.insert(indexerEvents).values([hint('known', 0, 0), hint('old', 7, 8), hint('to come', 7, 6)]);
  await completeHinted({ db, network }, tokenAddress);
  expect(await db.select().from(indexerEvents)).toMatchObject([{ id: 'to come' }]);
});

it('asks about few of the hints that an indexer sends for a record, the first of them, and deletes all', async () => {
  const { db } = database.handle;
  const { tokenAddress } = await openProject(platform, 5n);
  feedFiller = fillerOn({});
  const hints = Array.from({ length: 30 }, (_, age) => ({
    id: `hint ${age}`,
    tokenAddress,
    recordIndex: 7,
    txHash: `hash ${age}`,
    receivedAt: sql`now() - make_interval(mins => ${30 - age})`,
  }));
  await db.insert(indexerEvents).values(hints);
  const asked: string[] = [];
  const retirementTransactions: EmbeddedNetwork['retirementTransactions'] = async (_address, wanted) => {
    asked.push(...wanted.flatMap((record) => record.hints));
    return new Map();
  };
  await verifyHints({ db, network: { retirementTransactions } }, tokenAddress, [{ index: 7, timestamp: 0n }]);
  expect(asked).toEqual(['hash 0', 'hash 1', 'hash 2', 'hash 3']);
  expect(await db.select().from(indexerEvents)).toEqual([]);
});
