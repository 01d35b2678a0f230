/**
 * The connection that listens is lost while the pool works: the log, the metric and the readiness say so, and the feed
 * still finds what other instances have added.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDatabaseProxy, type DatabaseProxy } from '../../../devnet/databaseProxy.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { createReadiness } from '../../../src/http/server/readiness.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { seedRecords } from '../../support/database/records.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

const ONE_RECORD = {
  projects: [{ countryCode: 'KE', vintageYear: 2024 }],
  records: [{ project: 0, timestamp: 0, tonnes: 1, beneficiary: 'b' }],
};
/** Longer than two tries to reconnect. */
const SOME_TRIES_MS = 1_500;

let database: TestDatabase;
let proxy: DatabaseProxy;
let handle: DatabaseHandle;
const lines: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  const log = {
    warn: (_fields: unknown, text: string) => lines.push(text),
    info: (text: string) => lines.push(text),
  } as unknown as NonNullable<Parameters<typeof openDatabase>[0]['log']>;
  const { url } = database;
  handle = openDatabase({ url, directUrl: proxy.url, poolSize: 4, applicationName: 'deaf', log });
});
afterAll(async () => {
  await handle.close();
  await proxy.close();
  await database.drop();
});

it('says once that notifications are lost, and once that they arrive again; the feed goes on meanwhile', async () => {
  const platform = await platformOn(handle, await embeddedNetworkOn(handle));
  const { follower } = platform.dependencies;
  await follower.start();
  const readiness = createReadiness({
    db: handle.db,
    network: { signingOrder: null } as unknown as LedgerNetwork,
    findBroken: async () => [],
    readOpenWork: () => Promise.reject(new Error('not asked here')),
    publicReads: platform.dependencies.publicReads,
    isListening: handle.isListening,
  });
  const said = async () => (await readiness()).checks['notifications'];
  expect([handle.isListening(), await said(), lines]).toEqual([true, undefined, []]);

  proxy.suffer('reset');
  await expect.poll(handle.isListening).toBe(false);
  await delay(SOME_TRIES_MS);
  expect(lines).toEqual([expect.stringContaining('notifications of the database are lost')]);
  expect(await said()).toMatch(/^lost: /);
  const feed = follower.follow({ filter: { tokenAddress: null }, after: 0n });
  const next = feed.next();
  await seedRecords(database.handle, ONE_RECORD);
  expect(await next).toMatchObject({ done: false });
  expect([handle.isListening(), lines.length]).toEqual([false, 1]);

  proxy.heal();
  await expect.poll(handle.isListening).toBe(true);
  expect([await said(), lines.slice(1)]).toEqual([undefined, ['notifications of the database arrive again']]);
  await feed.return?.();
  follower.close();
  await platform.stop();
});
