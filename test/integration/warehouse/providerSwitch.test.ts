/**
 * Another ramp provider is configured while cash-outs of the previous one are open: operators see them and
 * may decide about them, the new provider is asked nothing about them, and they continue when their own
 * provider returns.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { ComposeOptions, Platform } from '../../../src/startup/compose.ts';
import { callerOf } from '../../support/callers.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { NO_APPROVALS } from '../../../src/resolvers/approvals/approvalPolicy.ts';
import { requestApproval } from '../../../src/resolvers/approvals/requestApproval.ts';
import { STRANDED } from '../../../src/resolvers/operations/strandedSessions.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import {
  findOffRampSession,
  findOffRampSessionAtProvider,
} from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { listOffRampSessions } from '../../../src/resolvers/warehouse/offRamp/listOffRampSessions.ts';
import { createSessionPoller } from '../../../src/resolvers/warehouse/offRamp/pollOpenSessions.ts';
import { receivePayoutHint } from '../../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { startRampServer, type RampServer } from '../../../devnet/rampServer.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf } from '../../support/wallets/walletCashOuts.ts';
import {
  activeReceipt,
  cashOutInput,
  decideSession,
  depositedCashOut,
  farmer,
  makeDue,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let first: RampServer;
let second: RampServer;

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  first = await startRampServer();
  second = await startRampServer();
});
afterAll(async () => {
  await Promise.all([first.close(), second.close()]);
  await database.drop();
});

interface Line {
  level: number;
  msg: string;
  providerName?: string;
  sessions?: number;
}

async function withPlatform<T>(
  ramp: ComposeOptions['ramp'] | null,
  work: (platform: Platform, lines: Line[]) => Promise<T>,
): Promise<T> {
  const lines: Line[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Line);
  const log = createLogger({ level: 'warn', pretty: false }, { write });
  const platform = await platformOn(database.handle, network, { log, ...(ramp ? { ramp } : {}) });
  await platform.start();
  try {
    return await work(platform, lines);
  } finally {
    await platform.stop();
  }
}

const at = ({ url }: RampServer, name = url === first.url ? 'first' : 'second') =>
  ({ kind: 'http', name, url, apiKey: 'key', callbackSecrets: [], requestsPerSecond: 1000 }) as const;
const told = (lines: readonly Line[]) =>
  lines.filter(({ level }) => level >= 50).map(({ providerName, sessions }) => [providerName, sessions]);
const OPERATOR = callerOf('operator', 'operator');
const page = { limit: 10, inverted: false };
const listStranded = async ({ dependencies }: Platform) =>
  (await listOffRampSessions(dependencies, { stranded: true }).list(page)).map(({ id }) => id).sort();

it('warns operators, asks the new one nothing, and lets them decide or wait', async () => {
  const ids = await withPlatform(null, async (platform, lines) => {
    const opened = [];
    for (let i = 0; i < 3; i++) opened.push((await depositedCashOut(platform)).id);
    const receipt = await activeReceipt(platform);
    platform.dependencies.ramp.openSession = async () => {
      throw new Error('cut off');
    };
    const { id } = await cashOut(
      { ...platform.dependencies, mutationWaitMs: 0 },
      farmer,
      cashOutInput(receipt),
    );
    expect(await listStranded(platform)).toEqual([]);
    expect(told(lines)).toEqual([]);
    return [...opened, id];
  });
  const [refunded = '', accepted = '', waiting = '', opening = ''] = ids;

  await withPlatform(at(first), async (platform, lines) => {
    const { dependencies } = platform;
    expect(told(lines)).toEqual([['manual', 4]]);
    expect(await listStranded(platform)).toEqual([...ids].sort());
    const before = await findOffRampSession(dependencies, waiting);
    expect(await receivePayoutHint(dependencies, before?.providerSessionId ?? '')).toBe('unknown-session');
    const decide = (offRampSessionId: string, decision: 'RETRY' | 'CONFIRM' | 'REFUND' | 'ACCEPT') =>
      decideSession(dependencies, 'operator', {
        offRampSessionId,
        decision,
        reason: 'asked the old provider',
      });
    await expect(decide(refunded, 'RETRY')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('"manual"') as string,
    });
    await decide(refunded, 'REFUND');
    await decide(accepted, 'CONFIRM');
    await reaches(platform, refunded, 'REFUNDED');
    await reaches(platform, accepted, 'SETTLED');
    await decide(opening, 'ACCEPT');
    expect(await findOffRampSession(dependencies, opening)).toMatchObject({
      state: 'CLOSED',
      stateReason: STRANDED,
    });
    expect(await findOffRampSession(dependencies, waiting)).toMatchObject({
      state: 'AWAITING_PAYOUT',
      hints: 0,
    });
    expect(await listStranded(platform)).toEqual([waiting]);
    // A request that no approval could carry out would also hold the payout.
    const approvalPolicy = { ...NO_APPROVALS, isRequired: true };
    // The manual provider does not know the second one: the answer must be about the provider all the same.
    for (const sessionId of [before?.providerSessionId ?? '', 'session-of-the-new-provider']) {
      const asked = { operation: 'setManualSessionStatus', input: { sessionId, status: 'settled' } } as const;
      const request = requestApproval({ ...dependencies, approvalPolicy }, OPERATOR, asked);
      await expect(request).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining(`"${dependencies.ramp.name}"`) as string,
      });
    }
    expect(first.requests).toEqual([]);
  });

  await withPlatform(null, async (platform) => {
    const back = await findOffRampSession(platform.dependencies, waiting);
    await providerSays(platform, back?.providerSessionId ?? '', 'settled');
    await reaches(platform, waiting, 'SETTLED');
    expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
  });
});

it('takes a provider under another name for another one, also at the same address', async () => {
  const id = await withPlatform(at(first), async (platform) => (await depositedCashOut(platform)).id);
  for (const ramp of [at(second), at(first, 'renamed')]) {
    const before = first.requests.length;
    await withPlatform(ramp, async (platform, lines) => {
      expect(told(lines)).toEqual([['first', 1]]);
      await makeDue(platform, id);
      await createSessionPoller(platform.dependencies).drain();
      expect(await listStranded(platform)).toEqual([id]);
      expect([first.requests.length, second.requests.length]).toEqual([before, 0]);
    });
  }
  await withPlatform(at(first), async (platform) => {
    await endAt(platform, first, id);
  });
});

it('goes on with a provider that has moved to another address under its name', async () => {
  const id = await withPlatform(at(first), async (platform) => (await depositedCashOut(platform)).id);
  for (const [payoutId, payout] of first.payouts) second.payouts.set(payoutId, { ...payout });
  await withPlatform(at(second, 'first'), async (platform, lines) => {
    expect(told(lines)).toEqual([]);
    expect(await listStranded(platform)).toEqual([]);
    await endAt(platform, second, id);
    expect((await reconcileAll(platform.dependencies)).findings).toEqual([]);
  });
});

/** The provider settles the payout, and says so in a callback. */
async function endAt(platform: Platform, { payouts }: RampServer, id: string): Promise<void> {
  const providerSessionId = (await findOffRampSession(platform.dependencies, id))?.providerSessionId ?? '';
  const payout = payouts.get(providerSessionId);
  if (!payout) throw new Error(`there is no payout ${providerSessionId}`);
  payout.status = 'settled';
  expect(await receivePayoutHint(platform.dependencies, providerSessionId)).not.toBe('unknown-session');
  await reaches(platform, id, 'SETTLED');
}

describe('a provider whose id another provider has used', () => {
  /** Sandboxes and live systems that count ids from 1 do this. */
  function givesId(platform: Platform, { payouts }: RampServer, id: string): void {
    const { ramp } = platform.dependencies;
    platform.dependencies.ramp = {
      ...ramp,
      async openSession(asked) {
        const { sessionId, ...opened } = await ramp.openSession(asked);
        const payout = payouts.get(sessionId);
        if (!payout) throw new Error(`there is no payout ${sessionId}`);
        payouts.delete(sessionId);
        payouts.set(id, { ...payout, id });
        return { ...opened, sessionId: id };
      },
    };
  }

  async function goesOnAtFirst(id: string, providerSessionId: string): Promise<void> {
    await withPlatform(at(first), async (platform) => {
      const payout = first.payouts.get(providerSessionId);
      if (payout) payout.status = 'settled';
      await receivePayoutHint(platform.dependencies, providerSessionId);
      await reaches(platform, id, 'SETTLED');
      const { findings } = await reconcileAll(platform.dependencies);
      expect(findings.filter(({ message }) => message.includes(id))).toEqual([]);
    });
  }

  it('has its payout closed: the deposit for the other payout is not counted twice', async () => {
    const { receipt, id, providerSessionId } = await withPlatform(at(first), async (platform) => {
      const of = await activeReceipt(platform);
      return { ...(await depositedCashOut(platform, of)), receipt: of };
    });
    await withPlatform(at(second), async (platform) => {
      givesId(platform, second, providerSessionId);
      const { dependencies } = platform;
      await expect(cashOut(dependencies, farmer, cashOutInput(receipt))).rejects.toMatchObject({
        code: 'LEDGER_REFUSED',
      });
      expect(second.payouts.get(providerSessionId)?.status).toBe('failed');
      expect(await findOffRampSession(dependencies, id)).toMatchObject({ state: 'AWAITING_PAYOUT' });
      expect(await depositInUse(network, providerSessionId)).toMatchObject({ status: 'PENDING' });
      expect((await reconcileAll(dependencies)).findings).toEqual([]);
    });
    await goesOnAtFirst(id, providerSessionId);
  });

  it('has it closed for a holder, too, who is not given what is deposited for the other payout', async () => {
    const holder = createEmbeddedHolder();
    const input = await withPlatform(at(first), async (platform) =>
      depositInputOf(await activeReceipt(platform, { farmerAddress: holder.address }), holder),
    );
    const { id, providerSessionId } = await withPlatform(at(first), async (platform) => {
      const { session, act } = await prepareCashOutDeposit(platform.dependencies, farmer, input);
      if (act === null) throw new Error('there is nothing to sign');
      await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
      return reaches(platform, session.id, 'AWAITING_PAYOUT');
    });
    const sessionId = providerSessionId ?? '';
    await withPlatform(at(second), async (platform) => {
      givesId(platform, second, sessionId);
      const another = { ...input, idempotencyKey: randomUUID() };
      await expect(prepareCashOutDeposit(platform.dependencies, farmer, another)).rejects.toThrow(
        /used before/,
      );
      const session = await findOffRampSessionAtProvider(platform.dependencies, sessionId);
      if (session === null) throw new Error('the second cash-out is not there');
      await reaches(platform, session.id, 'CLOSED');
      expect(second.payouts.get(sessionId)?.status).toBe('failed');
      // The poller looks for a late deposit by the holder.
      await makeDue(platform, session.id);
      await createSessionPoller(platform.dependencies).drain();
      expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({ state: 'CLOSED' });
      expect(await depositInUse(network, sessionId)).toMatchObject({ status: 'PENDING' });
    });
    await goesOnAtFirst(id, sessionId);
  });
});
