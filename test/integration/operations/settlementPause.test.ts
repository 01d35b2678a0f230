/**
 * A settlement contract or a token is paused during cash-outs: nothing is lost, operators see the waiting
 * work, and it continues automatically after the pause.
 */
import { eq, sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { offRampSessions } from '../../../src/db/tables/index.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { pledgeReceipt } from '../../../src/resolvers/warehouse/pledgeReceipt.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import {
  activeReceipt,
  cashOutInput,
  decideReviewOf,
  decideSession,
  depositedCashOut,
  farmer,
  makeDue,
  pledgeInput,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let settlement: string;
let paused: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  platform = await platformOn(database.handle, network);
  await platform.start();
  settlement = (await network.settlementContract())?.address ?? '';
});
afterEach(() => unpause());
afterAll(async () => {
  const { findings } = await reconcileAll(platform.dependencies);
  await platform.stop();
  await database.drop();
  expect(findings).toEqual([]);
});

async function pause(contract: string): Promise<void> {
  await network.pauseToken(contract);
  paused.push(contract);
}

async function unpause(): Promise<void> {
  for (const contract of paused) await network.pauseToken(contract, false);
  paused = [];
}

/** Makes the session due now, not a quarter of a minute later. */
const makeDueByHint = (id: string) => makeDue(platform, id, { hints: sql`${offRampSessions.hints} + 1` });

const looks = async (id: string) =>
  (await findOffRampSession(platform.dependencies, id))?.fruitlessSteps ?? 0;

describe.each([
  ['settled', 'SETTLED'],
  ['failed', 'REFUNDED'],
] as const)('a payout that ended as %s', (status, end) => {
  it.each([
    ['the settlement contract', () => settlement],
    ['the token', (token: string) => token],
  ] as const)('waits while %s is paused, and goes on by itself', async (_what, contractOf) => {
    const session = await depositedCashOut(platform);
    await pause(contractOf(session.tokenAddress));
    await providerSays(platform, session.providerSessionId, status);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    const [review] = await readReviews(platform.dependencies, session.id);
    expect(review?.flaggedBecause).toMatch(/is paused\. It goes on by itself when the pause is over$/);
    expect((await depositInUse(network, session.providerSessionId))?.status).toBe('PENDING');

    const before = await looks(session.id);
    await makeDueByHint(session.id);
    await expect.poll(() => looks(session.id)).toBeGreaterThanOrEqual(before);
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({ releasedAt: null });

    await reaches(platform, session.id, 'NEEDS_REVIEW');
    await unpause();
    await makeDueByHint(session.id);
    const released = await reaches(platform, session.id, end);
    expect(released.resolutionTxHash).not.toBeNull();
    expect((await depositInUse(network, session.providerSessionId))?.status).toBe(end);
    const reviews = await readReviews(platform.dependencies, session.id);
    expect(reviews.every(({ decision, closedAt }) => decision === null && closedAt !== null)).toBe(true);
  });
});

it.each([
  ['settled', 'refunded', 'SETTLED'],
  ['failed', 'settled', 'REFUNDED'],
] as const)(
  'does not go on by itself when the provider said %s, and since then %s',
  async (before, since, end) => {
    const session = await depositedCashOut(platform);
    await pause(settlement);
    await providerSays(platform, session.providerSessionId, before);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    await providerSays(platform, session.providerSessionId, since);
    await unpause();
    await makeDueByHint(session.id);
    const newest = async () => (await readReviews(platform.dependencies, session.id)).at(-1)?.flaggedBecause;
    await expect.poll(newest).toContain(`the provider says "${since}", but the tokens are to be`);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    expect((await depositInUse(network, session.providerSessionId))?.status).toBe('PENDING');

    const retry = { offRampSessionId: session.id, decision: 'RETRY', reason: 'called the provider' } as const;
    await decideSession(platform.dependencies, 'operator', retry);
    await reaches(platform, session.id, end);
  },
);

it('is tried again as soon as an operator says so', async () => {
  const session = await depositedCashOut(platform);
  await pause(settlement);
  await providerSays(platform, session.providerSessionId, 'settled');
  await reaches(platform, session.id, 'NEEDS_REVIEW');
  const retry = { offRampSessionId: session.id, decision: 'RETRY', reason: 'looked' } as const;
  await decideSession(platform.dependencies, 'operator', retry);
  await reaches(platform, session.id, 'NEEDS_REVIEW');
  await unpause();
  await decideSession(platform.dependencies, 'operator', retry);
  expect(await reaches(platform, session.id, 'SETTLED')).toMatchObject({ resolution: 'SETTLE' });
});

/** A cash-out whose deposit meets a pause after the session was opened at the provider. */
async function refusedCashOut(receipt: TokenizedReceipt) {
  const { ramp } = platform.dependencies;
  platform.dependencies.ramp = {
    ...ramp,
    async openSession(asked) {
      await pause(settlement);
      return ramp.openSession(asked);
    },
  };
  const refused = cashOut(platform.dependencies, farmer, cashOutInput(receipt)).finally(() => {
    platform.dependencies.ramp = ramp;
  });
  await expect(refused).rejects.toMatchObject({ code: 'LEDGER_REFUSED' });
  const [row] = await database.handle.db
    .select()
    .from(offRampSessions)
    .where(eq(offRampSessions.receiptId, receipt.id));
  return row;
}

it('refuses a cash-out whose deposit meets the pause, and closes it at the provider', async () => {
  const receipt = await activeReceipt(platform);
  const row = await refusedCashOut(receipt);
  expect(await network.balanceOf(receipt.tokenAddress, network.custodyAddress)).toBe(toBaseUnits(1000n));
  expect(row).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
});

it('deposits what was refused and is paid after all only when its receipt is still free', async () => {
  const receipt = await activeReceipt(platform);
  const row = await refusedCashOut(receipt);
  await unpause();
  await pledgeReceipt(platform.dependencies, farmer, pledgeInput(receipt));
  await providerSays(platform, row?.providerSessionId ?? '', 'settled');
  await reaches(platform, row?.id ?? '', 'NEEDS_REVIEW');
  const decide = (decision: 'RETRY' | 'ACCEPT') => decideReviewOf(platform, row?.id ?? '', decision);
  await expect(decide('RETRY')).rejects.toMatchObject({ code: 'RECEIPT_PLEDGED' });
  expect(await decide('ACCEPT')).toMatchObject({ state: 'CLOSED' });
});

it('deposits nothing by itself, after a RETRY, once its receipt is not free any more', async () => {
  const receipt = await activeReceipt(platform);
  const row = await refusedCashOut(receipt);
  const id = row?.id ?? '';
  await unpause();
  await pledgeReceipt(platform.dependencies, farmer, pledgeInput(receipt));
  await providerSays(platform, row?.providerSessionId ?? '', 'refunded');
  await reaches(platform, id, 'NEEDS_REVIEW');
  const { ramp } = platform.dependencies;
  platform.dependencies.ramp = { ...ramp, closeSession: async () => ({ status: 'settled' }) };
  await decideReviewOf(platform, id, 'RETRY');
  const newest = async () => (await readReviews(platform.dependencies, id)).at(-1)?.flaggedBecause;
  await expect.poll(newest).toContain('nothing is to be deposited');
  platform.dependencies.ramp = ramp;
  expect(await depositInUse(network, row?.providerSessionId)).toBeNull();
  expect(await decideReviewOf(platform, id, 'ACCEPT')).toMatchObject({ state: 'CLOSED' });
});

it('goes on after a pause although the provider has forgotten the session', async () => {
  const session = await depositedCashOut(platform);
  await pause(settlement);
  await providerSays(platform, session.providerSessionId, 'settled');
  await reaches(platform, session.id, 'NEEDS_REVIEW');
  const { ramp } = platform.dependencies;
  const getStatus = async () => {
    throw new DomainError('RAMP_REFUSED', 'The ramp provider refused: NOT_FOUND.');
  };
  platform.dependencies.ramp = { ...ramp, getStatus };
  await unpause();
  await makeDueByHint(session.id);
  const settled = reaches(platform, session.id, 'SETTLED').finally(() => {
    platform.dependencies.ramp = ramp;
  });
  expect(await settled).toMatchObject({ resolution: 'SETTLE' });
});
