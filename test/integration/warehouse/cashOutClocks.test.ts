/**
 * Cash-outs, reviews, expiry and keys on instances whose clocks are three days ahead or behind: the
 * database's clock decides, so everything happens on time.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Config } from '../../../src/config/config.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { openConfiguredNetwork } from '../../../src/startup/openNetwork.ts';
import { custodySecretKey, silentLog } from '../../../devnet/platform.ts';
import {
  offRampSessions,
  expiryRuns,
  indexerRegistrations,
  submissions,
} from '../../../src/db/tables/index.ts';
import type { QuoteRequest } from '../../../src/ramp/port.ts';
import { createApiKeyVerifier } from '../../../src/identity/apiKeys.ts';
import { signBody } from '../../../src/lib/signature.ts';
import { createNightlyExpiry, latestNight } from '../../../src/jobs/nightlyExpiry.ts';
import { callerOf } from '../../support/callers.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { advanceNetworkClock } from '../../../src/resolvers/operations/advanceNetworkClock.ts';
import { createDeposit } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { lockOffRampSession, recordStatus } from '../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import { createApiKey, listApiKeys } from '../../../src/resolvers/access/apiKeys.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { createSessionPoller } from '../../../src/resolvers/warehouse/offRamp/pollOpenSessions.ts';
import { quoteOffRamp } from '../../../src/resolvers/warehouse/quoteOffRamp.ts';
import { receiveDelivery } from '../../../src/resolvers/carbon/receiveDelivery.ts';
import { stepOffRampSession } from '../../../src/resolvers/warehouse/offRamp/stepOffRampSession.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { storeRegistration } from '../../support/indexerRegistrations.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { depositInputOf, prepareDeposit } from '../../support/wallets/walletCashOuts.ts';
import {
  activeReceipt,
  cashOutInput,
  depositInput,
  decideSession,
  depositedCashOut,
  farmer,
  providerSays,
  reaches,
  setSilently,
} from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';

const DAY_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;

let database: TestDatabase;
let network: EmbeddedNetwork;
/** An instance with a right clock and running workers. */
let right: Platform;
/** Instances without workers: the workers of `right` continue their work. */
let ahead: Platform;
let behind: Platform;

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  const instance = (skewMs: number) =>
    platformOn(database.handle, network, { clock: { now: () => new Date(Date.now() + skewMs) } });
  [right, ahead, behind] = await Promise.all([instance(0), instance(3 * DAY_MS), instance(-3 * DAY_MS)]);
  await right.start();
});
afterAll(async () => {
  const { findings } = await reconcileAll(right.dependencies);
  await Promise.all([right.stop(), ahead.stop(), behind.stop()]);
  await database.drop();
  expect(findings).toEqual([]);
});

const both = [
  ['three days ahead', () => ahead],
  ['three days behind', () => behind],
] as const;

/** Milliseconds from the database's present time to the moment. */
async function msFromNow(moment: Date | null | undefined): Promise<number> {
  const [row] = await database.handle.sql<{ now: string }[]>`SELECT now() AS now`;
  return (moment?.getTime() ?? Number.NaN) - new Date(row?.now ?? 0).getTime();
}

/** Runs `work` while the workers with the right clock are stopped. */
async function withoutWorkers<T>(work: () => Promise<T>): Promise<T> {
  await right.stop();
  try {
    return await work();
  } finally {
    right = await platformOn(database.handle, network);
    await right.start();
  }
}

const session = async (id: string) => {
  const found = await findOffRampSession(right.dependencies, id);
  if (!found) throw new Error('the cash-out has vanished');
  return found;
};

it('a quote that its provider lets last for years is shown, and holds a cash-out, for a day at most', async () => {
  const { ramp } = right.dependencies;
  const expiresAt = new Date('9999-12-31T00:00:00Z');
  const lasting = { ...ramp, quote: async (of: QuoteRequest) => ({ ...(await ramp.quote(of)), expiresAt }) };
  const receipt = await activeReceipt(right);
  const dependencies = { ...right.dependencies, ramp: lasting };
  const shown = await quoteOffRamp(dependencies, { tokenAmount: 5n, fiatCurrency: 'KES' });
  const begun = await cashOut(dependencies, farmer, cashOutInput(receipt));
  for (const end of [shown.expiresAt, begun.quoteExpiresAt]) {
    const heldMs = end.getTime() - begun.createdAt.getTime();
    expect(heldMs).toBeGreaterThan(DAY_MS - 60_000);
    expect(heldMs).toBeLessThanOrEqual(DAY_MS);
  }
});

describe.each(both)('an instance whose clock is %s', (_name, skewed) => {
  it('begins a cash-out that goes on at once', async () => {
    const receipt = await activeReceipt(right);
    const begun = await cashOut(skewed().dependencies, farmer, cashOutInput(receipt));
    expect(begun.state).toBe('AWAITING_PAYOUT');
  });

  it('goes on with one that another has begun, and keeps to its quote', async () => {
    const receipt = await activeReceipt(right);
    const others = await platformOn(database.handle, network, { mutationWaitMs: 0 });
    const begun = await withoutWorkers(async () => {
      const made = await cashOut(others.dependencies, farmer, cashOutInput(receipt));
      await stepOffRampSession(skewed().dependencies, made);
      return made;
    });
    await others.stop();
    expect(await session(begun.id)).toMatchObject({ stateReason: null });
    await reaches(right, begun.id, 'AWAITING_PAYOUT');
  });

  it('dates a deposit by the database while the network can’t be asked', async () => {
    const status = async () => Promise.reject(new NetworkUnavailable('away'));
    const { dependencies } = skewed();
    const { depositDate } = await createDeposit(
      { ...dependencies, network: { ...network, status } },
      'warehouse-1',
      depositInput(right),
    );
    const dated = new Date(Number(depositDate) * 1000);
    expect(Math.abs(await msFromNow(dated))).toBeLessThan(MINUTE_MS);
  });

  it('dates what it asks of the network by the database, which says what is stuck', async () => {
    const receipt = await createDeposit(skewed().dependencies, 'warehouse-1', depositInput(right));
    const asked = await database.handle.db
      .select({ createdAt: submissions.createdAt })
      .from(submissions)
      .where(eq(submissions.targetId, receipt.id));
    const ages = await Promise.all(asked.map(({ createdAt }) => msFromNow(createdAt)));
    expect(Math.max(...ages.map(Math.abs))).toBeLessThan(MINUTE_MS);
  });

  it('dates a deposit by the database while the network has closed nothing for an hour', async () => {
    const { dependencies } = skewed();
    const datedAfter = async (seconds: number) => {
      const closedAt = BigInt(Math.floor(Date.now() / 1000) - seconds);
      const status = async () => ({ ...(await network.status()), closedAt });
      const idle = { ...dependencies, network: { ...network, status } };
      const receipt = await createDeposit(idle, 'warehouse-1', depositInput(right));
      const minutes = (await msFromNow(new Date(Number(receipt.depositDate) * 1000))) / MINUTE_MS;
      // Adding 0 avoids -0.
      return Math.round(minutes) + 0;
    };
    expect(await datedAfter(3 * 24 * 60 * 60)).toBe(0);
    // The date is the time of a final block.
    expect(await datedAfter(15 * 60)).toBe(-15);
  });

  it('quotes until a quarter of an hour from now', async () => {
    const { expiresAt } = await quoteOffRamp(skewed().dependencies, { tokenAmount: 5n, fiatCurrency: 'KES' });
    expect(Math.abs((await msFromNow(expiresAt)) - 15 * MINUTE_MS)).toBeLessThan(MINUTE_MS);
  });

  it('waits for a signature for as long as was said', async () => {
    const holder = createEmbeddedHolder();
    const receipt = await activeReceipt(right, { farmerAddress: holder.address });
    const world = { platform: right, network };
    const { session: prepared, act } = await prepareDeposit(world, holder, depositInputOf(receipt, holder));
    await stepOffRampSession(skewed().dependencies, await session(prepared.id));
    expect(await session(prepared.id)).toMatchObject({ state: 'AWAITING_SIGNATURE' });
    await submitSigned({ ...skewed().dependencies, mutationWaitMs: 0 }, act, await holder.sign(act.unsigned));
    await reaches(right, prepared.id, 'AWAITING_PAYOUT');
  });

  it('gives out what was just prepared again, and what is old anew', async () => {
    const holder = createEmbeddedHolder();
    const receipt = await activeReceipt(right, { farmerAddress: holder.address });
    const input = depositInputOf(receipt, holder);
    const first = await prepareDeposit({ platform: right, network }, holder, input);
    const again = await prepareDeposit({ platform: skewed(), network }, holder, input);
    expect(again.act.id).toBe(first.act.id);
  });

  it('closes what was not signed when the time is over', async () => {
    const holder = createEmbeddedHolder();
    const receipt = await activeReceipt(right, { farmerAddress: holder.address });
    const begun = { ...skewed().dependencies, mutationWaitMs: 20_000 };
    const world = { platform: { ...skewed(), dependencies: begun }, network };
    const { session: prepared } = await prepareDeposit(world, holder, depositInputOf(receipt, holder));
    expect(await msFromNow(prepared.signatureDueAt)).toBeGreaterThan(10 * MINUTE_MS);
    expect(await msFromNow(prepared.signatureDueAt)).toBeLessThan(20 * MINUTE_MS);
    // By the network's clock, a transaction given to the holder could still land for a while.
    await network.advanceClock(3600);
    await right.dependencies.db
      .update(offRampSessions)
      .set({ signatureDueAt: sql`now() - interval '1 second'` })
      .where(eq(offRampSessions.id, prepared.id));
    await stepOffRampSession(skewed().dependencies, await session(prepared.id));
    await reaches(right, prepared.id, 'CLOSED');
  });

  it('looks at what is over for three days, no more and no less', async () => {
    const deposited = await depositedCashOut(right);
    await providerSays(right, deposited.providerSessionId, 'failed');
    await reaches(right, deposited.id, 'REFUNDED');
    const lookBySkewed = async (endedAgo: string) => {
      await right.dependencies.db
        .update(offRampSessions)
        .set({
          endedAt: sql`now() - ${endedAgo}::interval`,
          dueAt: sql`now()`,
          hints: sql`${offRampSessions.hints} + 1`,
        })
        .where(eq(offRampSessions.id, deposited.id));
      await createSessionPoller(skewed().dependencies).drain();
      return (await session(deposited.id)).dueAt;
    };
    await withoutWorkers(async () => {
      expect(await msFromNow(await lookBySkewed('1 hour'))).toBeGreaterThan(50 * MINUTE_MS);
      expect(await lookBySkewed('73 hours')).toBeNull();
    });
  });

  it('runs the expiry of the night that it is', async () => {
    const nightly = createNightlyExpiry(skewed().dependencies, { timeZone: 'UTC' });
    await nightly.start();
    nightly.stop();
    const [now] = await database.handle.sql<{ now: string }[]>`SELECT now() AS now`;
    const nights = await right.dependencies.db.select({ night: expiryRuns.night }).from(expiryRuns);
    expect(nights.map(({ night }) => night)).toEqual([latestNight(new Date(now?.now ?? 0), 'UTC')]);
  });

  it('makes and takes API keys until they end', async () => {
    const { dependencies } = skewed();
    const root = callerOf('root', 'admin');
    const verifierOf = (platform: Platform) =>
      createApiKeyVerifier({ ...platform.dependencies, credentialSignal: { onNotify: () => () => {} } });
    const inAnHour = BigInt(Math.floor(Date.now() / 1000) + 3600);
    const input = { name: 'billing', subject: randomUUID(), roles: ['buyer'], expiresAt: inAnHour } as const;
    const make = async (deps: Platform['dependencies']) => {
      const { key, apiKey } = await createApiKey(deps, root, { ...input, idempotencyKey: randomUUID() });
      if (key === null) throw new Error('the first answer has no key');
      return { key, apiKey };
    };
    const { key, apiKey } = await make(dependencies);
    for (const platform of [right, skewed()]) {
      expect(await verifierOf(platform)(key)).toMatchObject({ subject: input.subject });
    }
    const page = { limit: 10, inverted: false };
    const active = () => listApiKeys(dependencies, { subjects: [input.subject], active: true }).list(page);
    expect(await active()).toHaveLength(1);

    const ended = await make(right.dependencies);
    // A key can't be changed once made; only so can one end within a test.
    await changePastRules(
      database,
      sql`UPDATE api_keys SET created_at = now() - interval '2 days', expires_at = now() - interval '1 second'
        WHERE id = ${ended.apiKey.id}`,
    );
    await expect(verifierOf(skewed())(ended.key)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await active()).map(({ id }) => id)).toEqual([apiKey.id]);
  });

  it('takes a delivery that is signed with the secret before the last for five minutes', async () => {
    const { db } = right.dependencies;
    const secret = randomUUID();
    const id = await storeRegistration(right.dependencies, secret, { isReplaced: true });
    const rawBody = Buffer.from(JSON.stringify({ eventType: 'something else' }));
    const deliver = () =>
      receiveDelivery(skewed().dependencies, { rawBody, signature: signBody(secret, rawBody) });
    expect(await deliver()).toBe('not-a-retirement');
    await db
      .update(indexerRegistrations)
      .set({ replacedAt: sql`now() - interval '6 minutes'` })
      .where(eq(indexerRegistrations.id, id));
    expect(await deliver()).toBe('unverified');
  });
});

describe('a decision about what the provider said', () => {
  it('counts when it came after it, whatever the clocks of the instances say', async () => {
    const deposited = await depositedCashOut(right);
    await ahead.dependencies.db.transaction(async (tx) =>
      recordStatus(tx, await lockOffRampSession(tx, deposited.id), 'processing'),
    );
    await providerSays(right, deposited.providerSessionId, 'refunded');
    await reaches(right, deposited.id, 'NEEDS_REVIEW');
    const decision = { offRampSessionId: deposited.id, decision: 'CONFIRM', reason: 'paid by hand' } as const;
    await decideSession(behind.dependencies, 'operator', decision);
    await reaches(right, deposited.id, 'SETTLED', 'NEEDS_REVIEW');
    expect(await session(deposited.id)).toMatchObject({ state: 'SETTLED' });
    expect(await readReviews(right.dependencies, deposited.id)).toHaveLength(1);
  });

  it('does not count for what came after it', async () => {
    const deposited = await depositedCashOut(right);
    await providerSays(right, deposited.providerSessionId, 'refunded');
    await reaches(right, deposited.id, 'NEEDS_REVIEW');
    const decision = { offRampSessionId: deposited.id, decision: 'REFUND', reason: 'not paid' } as const;
    await withoutWorkers(async () => {
      await decideSession(ahead.dependencies, 'operator', decision);
      await behind.dependencies.db.transaction(async (tx) =>
        recordStatus(tx, await lockOffRampSession(tx, deposited.id), 'settled'),
      );
      await setSilently(right.dependencies.db, deposited.providerSessionId, 'settled');
    });
    await reaches(right, deposited.id, 'REFUNDED', 'NEEDS_REVIEW');
    expect(await session(deposited.id)).toMatchObject({ state: 'NEEDS_REVIEW', releasedAt: null });
    const retried = { ...decision, decision: 'RETRY' } as const;
    await decideSession(right.dependencies, 'operator', retried);
    await reaches(right, deposited.id, 'REFUNDED');
  });
});

describe('the time of the embedded network', () => {
  it('can be moved for trying things out, and not in production', async () => {
    const opened = async (NODE_ENV: Config['NODE_ENV']) => {
      const ledger = { family: 'embedded', secretKey: custodySecretKey } as const;
      const config = { ledger, NODE_ENV, TREASURY_ADDRESS: undefined };
      return (await openConfiguredNetwork(config, database.handle, silentLog)).clockControl;
    };
    expect(await opened('development')).toBeDefined();
    expect(await opened('production')).toBeUndefined();
    const deps = { network: right.dependencies.network, clockControl: null };
    await expect(advanceNetworkClock(deps, 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});
