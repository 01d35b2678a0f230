/**
 * On a network with sequences a worker drafts a call only when a slot is free: a draft that can't be signed
 * costs the node a simulation, and must be made again. It uses every free slot.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { retirements } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { createSubmissionWorker } from '../../../src/ledger/submission/worker.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { holding, retirement } from '../../support/holding.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';

const RETIREMENTS = 6;
const SLOTS = 2;
/**
 * Longer than the interval of the worker's look for due work, so that a look comes during the first drafts.
 */
const DRAFT_MS = 600;
/** Keeps a slot taken for longer than the drafts of the next look take. */
const LANDING_MS = 800;

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];

beforeEach(async () => {
  ({ database, platform, end } = await startPlatform());
});
afterEach(() => end());

async function begin(tokenAddress: string, count: number): Promise<void> {
  const dependencies = { ...platform.dependencies, mutationWaitMs: 0 };
  const begun = Array.from({ length: count }, () =>
    retire(dependencies, 'acme', retirement(tokenAddress, 1n)),
  );
  await Promise.all(begun);
}

it('drafts each call once, however long drafts take and however many calls wait', async () => {
  const { dependencies } = platform;
  const tokenAddress = await holding(platform, BigInt(RETIREMENTS));
  await platform.submissionWorker.stop();
  await begin(tokenAddress, RETIREMENTS);
  const { network } = dependencies.submission;
  const { custodyAddress } = network;
  let drafts = 0;
  const sentAtMs = new Map<string, number>();
  const ordered: LedgerNetwork = {
    ...network,
    signingOrder: { accounts: [custodyAddress], maxOpenPerAccount: SLOTS },
    nextSequences: async () => new Map([[custodyAddress, 1n]]),
    async draft(call) {
      drafts += 1;
      await delay(DRAFT_MS);
      return network.draft(call);
    },
    async outcome(sent) {
      const nowMs = performance.now();
      const sentMs = sentAtMs.get(sent.hash) ?? nowMs;
      sentAtMs.set(sent.hash, sentMs);
      return nowMs < sentMs + LANDING_MS ? { status: 'pending' } : network.outcome(sent);
    },
  };
  const worker = createSubmissionWorker({ ...dependencies.submission, network: ordered });
  worker.start();
  try {
    const countRetired = () => database.handle.db.$count(retirements, eq(retirements.state, 'RETIRED'));
    await expect.poll(countRetired, { timeout: 30_000 }).toBe(RETIREMENTS);
  } finally {
    await worker.stop();
  }
  expect(drafts).toBe(RETIREMENTS);
});

it('signs for every free slot while the node has not answered about what was signed before', async () => {
  const { submission } = platform.dependencies;
  const tokenAddress = await holding(platform, BigInt(2 * SLOTS));
  await platform.submissionWorker.stop();
  const { network } = submission;
  const { custodyAddress } = network;
  let sent = 0;
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const silent: LedgerNetwork = {
    ...network,
    signingOrder: { accounts: [custodyAddress], maxOpenPerAccount: 2 * SLOTS },
    nextSequences: async () => new Map([[custodyAddress, 1n]]),
    async broadcast(signedBytes) {
      sent += 1;
      await answered;
      return network.broadcast(signedBytes);
    },
  };
  const worker = createSubmissionWorker({ ...submission, network: silent });
  worker.start();
  try {
    for (const expected of [SLOTS, 2 * SLOTS]) {
      await begin(tokenAddress, SLOTS);
      await expect.poll(() => sent).toBe(expected);
    }
  } finally {
    answer();
    await worker.stop();
  }
});
