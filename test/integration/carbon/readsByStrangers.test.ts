/**
 * Reads of the network's node by strangers: many at once take few requests, and addresses take turns.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { LedgerNetwork, RetirementPage } from '../../../src/ledger/network/port.ts';
import { encodeStrkey } from '../../../src/lib/strkey.ts';
import { readRecordOnNetwork } from '../../../src/resolvers/carbon/publicNodeReads.ts';
import { readRegistry } from '../../../src/resolvers/carbon/readRegistry.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

interface Asked {
  tokenAddress: string;
  answer(): void;
}

let database: TestDatabase;
let platform: Platform;
/** Requests that the node has not answered yet. */
const unanswered: Asked[] = [];
let askedCount = 0;

const holdRecords = (tokenAddress: string): Promise<RetirementPage> =>
  new Promise((resolve) => {
    askedCount += 1;
    const page = { records: [], totals: { totalRetired: 0n, totalSupply: 0n, totalRetirements: 0 } };
    unanswered.push({ tokenAddress, answer: () => resolve(page) });
  });

beforeAll(async () => {
  database = await createTestDatabase();
  const network: LedgerNetwork = await embeddedNetworkOn(database.handle);
  platform = await platformOn(database.handle, { ...network, retirementRecords: holdRecords });
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});
beforeEach(() => {
  askedCount = 0;
});

async function newToken(): Promise<string> {
  const tokenAddress = encodeStrkey('contract', randomBytes(32));
  await insertProject(database.handle.db, { quantityTonnes: 1n, tokenAddress });
  return tokenAddress;
}

const readOf = (tokenAddress: string, addressKey: string) =>
  readRegistry(platform.dependencies, tokenAddress, addressKey);

/** Answers requests until all readings are done. */
async function answerUntilRead(readings: readonly Promise<unknown>[]): Promise<void> {
  let isRead = false;
  const read = Promise.all(readings).finally(() => (isRead = true));
  while (!isRead) {
    for (const { answer } of unanswered.splice(0)) answer();
    await new Promise(setImmediate);
  }
  await read;
}

it.each([
  ['one address', () => '203.0.113.7'],
  ['an address each', () => randomUUID()],
])('twenty readings of one registry by %s share two requests', async (_who, addressKey) => {
  const tokenAddress = await newToken();
  await answerUntilRead(Array.from({ length: 20 }, () => readOf(tokenAddress, addressKey())));
  expect(askedCount).toBeLessThanOrEqual(2);
});

it('a registry is read anew for a question that came while it was being read', async () => {
  const tokenAddress = await newToken();
  const first = readOf(tokenAddress, 'a');
  await expect.poll(() => unanswered.length).toBe(1);
  const [asked] = unanswered.splice(0);
  const later = readOf(tokenAddress, 'b');
  asked?.answer();
  await first;
  await answerUntilRead([later]);
  expect(askedCount).toBe(2);
});

it('readings of twenty registries take four requests at a time, of one address three', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, newToken));
  const readings = tokens.map((tokenAddress) => readOf(tokenAddress, 'greedy'));
  await expect.poll(() => unanswered.length).toBeGreaterThanOrEqual(3);
  await database.handle.db.execute('SELECT 1');
  expect(unanswered).toHaveLength(3);
  const ofOther = await newToken();
  const other = readOf(ofOther, 'modest');
  await expect.poll(() => unanswered.length).toBe(4);
  expect(unanswered.at(-1)?.tokenAddress).toBe(ofOther);
  await answerUntilRead([...readings, other]);
  expect(askedCount).toBe(21);
});

it('readings of records take four requests at a time, of one address three, and addresses take turns', async () => {
  const recordOf = (tokenAddress: string, addressKey: string) =>
    readRecordOnNetwork(platform.dependencies, tokenAddress, 0, addressKey);
  const asked = () => unanswered.map(({ tokenAddress }) => tokenAddress);
  const greedy = Array.from({ length: 98 }, () => recordOf('greedy', 'greedy'));
  const other = recordOf('other', 'other');
  await expect.poll(asked).toEqual(['greedy', 'greedy', 'greedy', 'other']);
  const modest = recordOf('modest', 'modest');
  for (const { answer } of unanswered.splice(0, 2)) answer();
  await expect.poll(asked).toEqual(['greedy', 'other', 'greedy', 'modest']);
  await answerUntilRead([...greedy, other, modest]);
});
