/**
 * The feed across instances: no gap and no repeat, from any cursor, in commit order.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Platform } from '../../../src/startup/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import type { FeedFilter } from '../../../src/feed/feedFilter.ts';
import { createFeedFollower, type FeedRecord } from '../../../src/feed/followFeed.ts';
import { fillToken } from '../../../src/feed/fillToken.ts';
import { readHead } from '../../../src/feed/readFeed.ts';
import { readUnstored, recordSettled } from '../../../src/feed/recordSettled.ts';
import { completeHashes } from '../../../src/feed/recordTransactions.ts';
import { seedRecords } from '../../support/database/records.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import {
  feedCursor,
  followRetirements,
  latestCursor,
} from '../../../src/resolvers/carbon/followRetirements.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { openProject } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { prepare } from '../../../devnet/calls.ts';

let database: TestDatabase;
let secondHandle: DatabaseHandle;
let network: EmbeddedNetwork;
let first: Platform;
let second: Platform;

beforeAll(async () => {
  database = await createTestDatabase();
  secondHandle = openDatabase({ url: database.url, poolSize: 10, applicationName: 'second' });
  network = await embeddedNetworkOn(database.handle);
  first = await platformOn(database.handle, network);
  second = await platformOn(secondHandle, await embeddedNetworkOn(secondHandle));
  await Promise.all([first.start(), second.start()]);
});
afterAll(async () => {
  await Promise.all([first.stop(), second.stop()]);
  await secondHandle.close();
  await database.drop();
});

const tokenOf = (project: TokenizedProject) => ({
  projectId: project.id,
  tokenAddress: project.tokenAddress,
});

/** Makes custody burn `count` times outside the books: the test needs only the token's own list. */
async function burn(project: TokenizedProject, count: number, beneficiary = 'b'): Promise<void> {
  for (let i = 0; i < count; i++) {
    const prepared = await prepare(network, {
      kind: 'retire',
      tokenAddress: project.tokenAddress,
      amount: toBaseUnits(1n),
      beneficiary,
      note: '',
    });
    await network.broadcast(prepared.signedBytes);
  }
}

const cursorOf = (record: FeedRecord | undefined) =>
  record ? feedCursor(record) : expect.fail('no such record');

/** Collects `count` records of a subscription. */
async function take(
  platform: Platform,
  { after, ...filter }: FeedFilter & { after: string | null },
  count: number,
): Promise<FeedRecord[]> {
  const feed = await followRetirements(platform.dependencies, { filter, after });
  const records: FeedRecord[] = [];
  for await (const record of feed) {
    records.push(record);
    if (records.length === count) break;
  }
  return records;
}

describe('retirementFeed', () => {
  it('shows both instances the same records in the same order, live', async () => {
    const [one, two] = [await openProject(first, 100n), await openProject(second, 100n)];
    const live = [first, second].map((platform) => take(platform, { tokenAddress: null, after: null }, 40));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await Promise.all([burn(one, 20), burn(two, 20)]);
    for (let i = 0; i < 3; i++) {
      first.dependencies.feedFiller.requestFill(tokenOf(one));
      second.dependencies.feedFiller.requestFill(tokenOf(one));
      second.dependencies.feedFiller.requestFill(tokenOf(two));
      first.dependencies.feedFiller.requestFill(tokenOf(two));
    }
    const [seenByFirst = [], seenBySecond = []] = await Promise.all(live);
    expect(seenByFirst.map((r) => r.position)).toEqual(seenBySecond.map((r) => r.position));
    const start = seenByFirst[0]?.position ?? 0n;
    expect(seenByFirst.map((r) => r.position)).toEqual(
      Array.from({ length: 40 }, (_, i) => start + BigInt(i)),
    );
    for (const project of [one, two]) {
      const indexes = seenByFirst.filter((r) => r.projectId === project.id).map((r) => r.index);
      expect(indexes).toEqual(Array.from({ length: 20 }, (_, i) => i));
    }
  });

  it('resumes after any cursor and goes on live, without a gap or a repeat', async () => {
    const project = await openProject(first, 500n);
    const { tokenAddress } = project;
    await burn(project, 120);
    await first.dependencies.feedFiller.round();
    const all = await take(second, { tokenAddress, after: '0' }, 120);
    expect(all.map((r) => r.index)).toEqual(Array.from({ length: 120 }, (_, i) => i));

    const after = cursorOf(all[59]);
    const resumed = take(second, { tokenAddress, after }, 70);
    await burn(project, 10);
    first.dependencies.feedFiller.requestFill(tokenOf(project));
    expect((await resumed).map((r) => r.index)).toEqual(Array.from({ length: 70 }, (_, i) => 60 + i));
  });

  it('shows who resumes what was completed or dated anew since it was appended, on each instance', async () => {
    const project = await openProject(first, 10n);
    const { tokenAddress } = project;
    const after = await latestCursor(first.dependencies);
    await burn(project, 1);
    await fillToken(first.dependencies.feed, tokenOf(project));
    const resume = async () => (await take(second, { tokenAddress, after }, 1))[0];
    const { timestamp = 0n, txHash } = (await resume()) ?? {};
    expect(txHash).toBeNull();
    await completeHashes(first.dependencies.db, [{ tokenAddress, recordIndex: 0, txHash: 'found later' }]);
    await expect.poll(resume).toMatchObject({ txHash: 'found later', timestamp });
    const later = sql`UPDATE retirement_records SET timestamp = timestamp + 5 WHERE token_address = ${tokenAddress}`;
    await changePastRules(database, later);
    await expect.poll(resume).toMatchObject({ txHash: 'found later', timestamp: timestamp + 5n });
  });

  it('notes what a settlement claims of records that were stored before, though it read none of them', async () => {
    const project = await openProject(first, 10n);
    const token = tokenOf(project);
    const { db, feed } = first.dependencies;
    await burn(project, 2);
    await fillToken(feed, token);
    const settled = [
      { ...token, recordIndex: 0, txHash: 'of the burn' },
      { ...token, recordIndex: 2, txHash: null },
    ];
    const settle = (burns: typeof settled) =>
      db.transaction((tx) => recordSettled(tx, new Map(), burns, feed.clock.now()));
    expect(await settle(settled.slice(0, 1))).toEqual({ appended: 0, behind: [] });
    const records = await database.handle.sql`
      SELECT token_address, index, tx_hash FROM retirement_records WHERE is_claimed OR tx_hash = 'of the burn'`;
    expect(records).toEqual([{ token_address: token.tokenAddress, index: 0, tx_hash: 'of the burn' }]);
    expect(await settle(settled)).toEqual({ appended: 0, behind: [token] });
  });

  it('lets a settlement wait for few tokens, and for none that has no answer', async () => {
    const { db } = first.dependencies;
    const tokens = Array.from({ length: 10 }, (_, i) => `token ${i}`);
    const asked: string[] = [];
    const retirementRecords: EmbeddedNetwork['retirementRecords'] = async (token) => {
      asked.push(token);
      if (token === 'token 0') throw new NetworkUnavailable('connection refused');
      if (token === 'token 1') await new Promise(() => {});
      await new Promise(setImmediate);
      return { records: [], totals: { totalSupply: 0n, totalRetired: 0n, totalRetirements: 0 } };
    };
    const read = await readUnstored({ db, network: { ...network, retirementRecords } }, tokens);
    expect(asked).toEqual(tokens.slice(0, 8));
    expect([...read.keys()]).toEqual(tokens.slice(2, 8));
  });

  it('refuses cursors that no event had', async () => {
    const newest = await latestCursor(first.dependencies);
    const others = [
      '1',
      '1.00000000',
      `0${newest}`,
      `${newest}0`,
      '99999999.00000000',
      `${'9'.repeat(18)}.0`,
      `${'9'.repeat(19)}.0`,
    ];
    for (const after of ['', '-1', '1.5', 'abc', '99999999', '01', ...others]) {
      const following = followRetirements(first.dependencies, { filter: {}, after });
      await expect(following, after).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
    }
  });

  it('ends a subscription that is abandoned while it waits', async () => {
    const feed = await followRetirements(first.dependencies, { filter: {}, after: null });
    const next = feed.next();
    await feed.return();
    expect(await next).toEqual({ value: undefined, done: true });
  });

  it('ends all subscriptions when it is closed, and works no more', async () => {
    const { db, publicReads, feed, log } = first.dependencies;
    let listeners = 0;
    const onNotify: typeof feed.feedSignal.onNotify = (listener) => {
      const unlisten = feed.feedSignal.onNotify(listener);
      listeners += 1;
      return () => {
        listeners -= 1;
        unlisten();
      };
    };
    const feedSignal = { ...feed.feedSignal, onNotify };
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const follower = createFeedFollower({ db, publicReads, feedSignal, log });
    await follower.start();
    const waiting = follower.follow({ filter: {}, after: await readHead(db) }).next();
    expect([listeners, vi.getTimerCount()]).toEqual([1, 1]);
    follower.close();
    expect(await waiting).toEqual({ value: undefined, done: true });
    const late = follower.follow({ filter: {}, after: 0n });
    expect(await late.next()).toEqual({ value: undefined, done: true });
    expect([listeners, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('sends a subscriber with a filter what matches, replayed and live, from any cursor', async () => {
    const project = await openProject(first, 500n);
    const start = await latestCursor(first.dependencies);
    const filter = { countryCodes: [project.countryCode], beneficiaries: ['wanted'] };
    const wanted = (i: number) => i % 5 === 4;
    for (let i = 0; i < 10; i++) await burn(project, 1, wanted(i) ? 'wanted' : 'other');
    await first.dependencies.feedFiller.round();
    const replayed = await take(second, { ...filter, after: start }, 2);
    expect(replayed.map((r) => r.index)).toEqual([4, 9]);
    // A client that resumes misses nothing and gets nothing twice.
    const resumed = take(second, { ...filter, after: cursorOf(replayed[0]) }, 2);
    for (let i = 10; i < 15; i++) await burn(project, 1, wanted(i) ? 'wanted' : 'other');
    first.dependencies.feedFiller.requestFill(tokenOf(project));
    expect((await resumed).map((r) => r.index)).toEqual([9, 14]);
    const others = await take(first, { beneficiaries: ['other'], vintageYears: [2024], after: start }, 12);
    expect(others.map((r) => r.index)).toEqual(
      Array.from({ length: 15 }, (_, i) => i).filter((i) => !wanted(i)),
    );
  });

  it('waits on, when what comes does not match, and is sent what does', async () => {
    const project = await openProject(first, 10n);
    const { tokenAddress } = project;
    const other = await openProject(first, 10n);
    const feed = await followRetirements(first.dependencies, { filter: { tokenAddress }, after: null });
    const next = feed.next();
    for (const one of [other, other, project]) {
      const before = await readHead(first.dependencies.db);
      await burn(one, 1);
      first.dependencies.feedFiller.requestFill(tokenOf(one));
      await expect.poll(() => readHead(first.dependencies.db)).toBeGreaterThan(before);
    }
    expect(await next).toMatchObject({ value: { tokenAddress, index: 0 } });
    await feed.return();
  });

  it.each([
    ['beneficiaries', { beneficiaries: ['wanted'] }],
    ['countries', { countryCodes: ['ZZ'] }],
    ['vintages', { vintageYears: [2001] }],
    ['an empty list', { countryCodes: [] }],
  ])('goes past everything that does not match %s, and still ends', async (_what, filter) => {
    const feed = await followRetirements(first.dependencies, {
      filter: { ...filter, tokenAddress: (await openProject(first, 1n)).tokenAddress },
      after: '0',
    });
    const next = feed.next();
    await feed.return();
    expect(await next).toEqual({ value: undefined, done: true });
  });
});

describe('a replay through a long history for few', () => {
  it('finds them behind many windows of records that do not match', async () => {
    const own = await createTestDatabase();
    const platform = await platformOn(own.handle, await embeddedNetworkOn(own.handle));
    await seedRecords(own.handle, {
      projects: [{ countryCode: 'KE', vintageYear: 2020 }],
      records: Array.from({ length: 5_200 }, (_, i) => ({
        project: 0,
        timestamp: 1_700_000_000,
        tonnes: 1,
        beneficiary: i === 10 || i === 5_190 ? 'wanted' : 'other',
      })),
    });
    await platform.start();
    const found = await take(platform, { beneficiaries: ['wanted'], after: '0' }, 2);
    expect(found.map((r) => r.index)).toEqual([10, 5_190]);
    await platform.stop();
    await own.drop();
  });
});
