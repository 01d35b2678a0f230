/**
 * The feed across instances: no gap, no repeat, from any cursor, in commit order.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Platform } from '../../src/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import type { FeedRecord } from '../../src/feed/followFeed.ts';
import type { EmbeddedNetwork } from '../../src/ledger/network/embedded/embeddedNetwork.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import type { TokenizedProject } from '../../src/resolvers/findProject.ts';
import { followRetirements } from '../../src/resolvers/followRetirements.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { embeddedNetworkOn, openProject, platformOn } from '../harness/platform.ts';
import { prepare } from '../contract/calls.ts';

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

/** Burns by custody outside the books, `count` times: what matters here is the token's own list. */
async function burn(project: TokenizedProject, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const prepared = await prepare(network, {
      kind: 'retire',
      tokenAddress: project.tokenAddress,
      amount: toBaseUnits(1n),
      beneficiary: 'b',
      note: '',
    });
    await network.broadcast(prepared.signedBytes);
  }
}

/** Collects `count` records of a subscription. */
async function take(
  platform: Platform,
  options: { tokenAddress: string | null; after: string | null },
  count: number,
): Promise<FeedRecord[]> {
  const aborting = new AbortController();
  const feed = await followRetirements(platform.dependencies, { ...options, signal: aborting.signal });
  const records: FeedRecord[] = [];
  for await (const record of feed) {
    records.push(record);
    if (records.length === count) break;
  }
  aborting.abort();
  return records;
}

describe('retirementFeed', () => {
  it('shows both instances the same records in the same order, live', async () => {
    const [one, two] = [await openProject(first, 100n), await openProject(second, 100n)];
    const live = [first, second].map((platform) => take(platform, { tokenAddress: null, after: null }, 40));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await Promise.all([burn(one, 20), burn(two, 20)]);
    for (let i = 0; i < 3; i++) {
      first.dependencies.healer.nudge(tokenOf(one));
      second.dependencies.healer.nudge(tokenOf(one));
      second.dependencies.healer.nudge(tokenOf(two));
      first.dependencies.healer.nudge(tokenOf(two));
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
    await first.dependencies.healer.round();
    const all = await take(second, { tokenAddress, after: '0' }, 120);
    expect(all.map((r) => r.index)).toEqual(Array.from({ length: 120 }, (_, i) => i));

    const after = String(all[59]?.position);
    const resumed = take(second, { tokenAddress, after }, 70);
    await burn(project, 10);
    first.dependencies.healer.nudge(tokenOf(project));
    expect((await resumed).map((r) => r.index)).toEqual(Array.from({ length: 70 }, (_, i) => 60 + i));
  });

  it('refuses cursors that no event had', async () => {
    for (const after of ['', '-1', '1.5', 'abc', '99999999', '01']) {
      const following = followRetirements(first.dependencies, {
        tokenAddress: null,
        after,
        signal: new AbortController().signal,
      });
      await expect(following, after).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
    }
  });

  it('ends a subscription that is abandoned while it waits', async () => {
    const aborting = new AbortController();
    const feed = await followRetirements(first.dependencies, {
      tokenAddress: null,
      after: null,
      signal: aborting.signal,
    });
    const next = feed.next();
    aborting.abort();
    expect(await next).toEqual({ value: undefined, done: true });
  });
});
