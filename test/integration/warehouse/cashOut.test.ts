/**
 * Cash-outs up to the payout, with faults: the provider is asked for nothing that can't be kept, and whatever
 * is lost or cut off, one session is opened and one deposit made.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { offRampSessions, manualRampSessions } from '../../../src/db/tables/index.ts';
import { createEmbeddedNetwork, type EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { parseDecimal } from '../../../src/lib/decimals.ts';
import type { RampProvider } from '../../../src/ramp/port.ts';
import { cashOut, type CashOutInput } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { deployRampSettlement } from '../../../src/resolvers/operations/deployRampSettlement.ts';
import { isExposed } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { listOffRampSessions } from '../../../src/resolvers/warehouse/offRamp/listOffRampSessions.ts';
import { quoteOffRamp } from '../../../src/resolvers/warehouse/quoteOffRamp.ts';
import { land } from '../../../devnet/calls.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import type { FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { withRampFaults, type FaultyRamp, type RampFaultPlan } from '../../support/faults/faultyRamp.ts';
import { platformOn } from '../../support/platform.ts';
import {
  ACCOUNT_NUMBER,
  activeReceipt,
  cashOutInput,
  depositedCashOut,
  farmer,
  reaches,
  sessionOf,
  setSilently,
} from '../../support/warehouse.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let manual: RampProvider;
let ramp: FaultyRamp;
let faults: FaultPlan = () => null;
let rampFaults: RampFaultPlan = () => null;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform((...call) => faults(...call)));
  manual = platform.dependencies.ramp;
});
beforeEach(() => {
  ramp = withRampFaults(manual, (...call) => rampFaults(...call));
  platform.dependencies.ramp = ramp;
});
afterEach(() => {
  faults = () => null;
  rampFaults = () => null;
});
afterAll(async () => {
  const report = await reconcileAll(platform.dependencies);
  await platform.stop();
  await database.drop();
  expect(report.findings).toEqual([]);
});

const send = (receipt: TokenizedReceipt, overrides: Partial<CashOutInput> = {}) =>
  cashOut(platform.dependencies, farmer, cashOutInput(receipt, overrides));

/**
 * Ends the quote an hour ago, after the grace in which a provider may still show a session. Quotes are fixed,
 * so only tests can do this.
 */
async function letQuoteRunOut(id: string): Promise<void> {
  await changePastRules(
    database,
    sql`UPDATE off_ramp_sessions SET quote_expires_at = now() - interval '1 hour' WHERE id = ${id}`,
  );
}

async function manualSessionsOf(reference: string) {
  return database.handle.db
    .select()
    .from(manualRampSessions)
    .where(eq(manualRampSessions.reference, reference));
}

describe('offRampQuote', () => {
  const quote = (tokenAmount: bigint, fiatCurrency: string) =>
    quoteOffRamp(platform.dependencies, { tokenAmount, fiatCurrency });

  it('takes the fee from the fiat amount, exactly', async () => {
    expect(await quote(100n, 'KES')).toMatchObject({
      fiatAmount: '4925.00',
      fiatFee: '75.00',
      feeBps: 150,
      exchangeRate: '0.02',
    });
    // 142857.14 shillings, a currency without cents: rounded down, the fee rounded up.
    expect(await quote(100n, 'UGX')).toMatchObject({ fiatAmount: '140714', fiatFee: '2143' });
    expect((await quote(2n ** 63n - 1n, 'KES')).fiatAmount).toBe('454251072815097708494.75');
  });

  it('refuses a currency that it does not know, instead of taking its rate for 1', async () => {
    for (const currency of ['EUR', 'kes', 'constructor', '__proto__', '']) {
      await expect(quote(100n, currency)).rejects.toMatchObject({ code: 'RAMP_REFUSED' });
    }
  });

  it('never pays more than the tokens are worth, nor a cent less than the fee leaves', async () => {
    await fc.assert(
      fc.asyncProperty(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), async (tokenAmount) => {
        const { fiatAmount, fiatFee } = await quote(tokenAmount, 'KES');
        const paid = parseDecimal(fiatAmount)?.units ?? 0n;
        const fee = parseDecimal(fiatFee)?.units ?? 0n;
        // 1 kg is worth 5000 cents.
        expect(paid + fee).toBe(tokenAmount * 5000n);
        expect(fee).toBe((tokenAmount * 5000n * 150n + 9999n) / 10_000n);
      }),
      { numRuns: 200 },
    );
  });
});

describe('cashOut', () => {
  it('freezes its quote, opens the session under our reference and puts the tokens into custody', async () => {
    const receipt = await activeReceipt(platform);
    const session = await send(receipt);
    expect(session).toMatchObject({
      state: 'AWAITING_PAYOUT',
      fiatAmount: '4925.00',
      fiatFee: '75.00',
      exchangeRate: '0.02',
      providerStatus: 'pending',
      requestedBy: farmer.subject,
    });
    expect(session.providerSessionId).toMatch(/^manual_[\w-]{32}$/);
    expect(await manualSessionsOf(session.id)).toMatchObject([{ id: session.providerSessionId }]);
    expect(await depositInUse(network, session.providerSessionId)).toMatchObject({
      depositor: network.custodyAddress,
      tokenAddress: receipt.tokenAddress,
      amount: toBaseUnits(100n),
      status: 'PENDING',
    });
    const page = { limit: 10, inverted: false };
    const listed = async (visibleTo: string) => {
      const filter = { visibleTo, receiptTokenAddresses: [receipt.tokenAddress] };
      const found = await listOffRampSessions(platform.dependencies, filter).list(page);
      return found.map(({ id }) => id);
    };
    expect(await listed(farmer.subject)).toEqual([session.id]);
    expect(await listed('farmer-2')).toEqual([]);
  });

  it('keeps the payout account sealed and shows its end alone', async () => {
    const session = await depositedCashOut(platform);
    const [row] = await database.handle.sql<{ row: string }[]>`
      SELECT row_to_json(c)::text || (SELECT json_agg(k)::text FROM idempotency_keys k) AS row
      FROM off_ramp_sessions c WHERE c.id = ${session.id}`;
    expect(row?.row).not.toContain(ACCOUNT_NUMBER);
    expect(session.maskedAccountNumber).toBe('••••3456');
    expect(platform.dependencies.payoutAccounts.unseal(session)).toEqual({
      type: 'mobile-money',
      accountNumber: ACCOUNT_NUMBER,
      provider: 'MTN',
    });
  });

  it('gives the session of the first use to a second one that it has overtaken during its checks', async () => {
    const receipt = await activeReceipt(platform, { quantityKg: 100n });
    const input = cashOutInput(receipt);
    const first: string[] = [];
    const overtaken: EmbeddedNetwork = {
      ...network,
      async balanceOf(...asked) {
        if (first.length === 0) first.push((await cashOut(platform.dependencies, farmer, input)).id);
        return network.balanceOf(...asked);
      },
    };
    const second = await cashOut({ ...platform.dependencies, network: overtaken }, farmer, input);
    expect(await network.balanceOf(receipt.tokenAddress, network.custodyAddress)).toBe(0n);
    expect([second.id]).toEqual(first);
  });

  it('opens and deposits once for one key, however often it is sent', async () => {
    const receipt = await activeReceipt(platform, { quantityKg: 100n });
    const key = randomUUID();
    const all = await Promise.all(Array.from({ length: 8 }, () => send(receipt, { idempotencyKey: key })));
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(ramp.calls.get('openSession')).toBe(1);
    // The whole balance is now in the settlement contract; the repeated request is still the same request.
    expect(await send(receipt, { idempotencyKey: key })).toMatchObject({ id: all[0]?.id });
    const other = {
      payoutAccount: { type: 'mobile-money', accountNumber: '254700999999', provider: 'MTN' },
      idempotencyKey: key,
    } as const;
    await expect(send(receipt, other)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  });
});

describe('checks before the provider is called', () => {
  /** The error of a cash-out that opens, stores and deposits nothing. */
  async function refusalOf(receipt: TokenizedReceipt, overrides: Partial<CashOutInput> = {}) {
    const refusal = await send(receipt, overrides).then(
      () => new Error('the cash-out was accepted'),
      (error: Error) => error,
    );
    expect(ramp.calls.get('openSession')).toBeUndefined();
    const rows = await database.handle.db
      .select()
      .from(offRampSessions)
      .where(eq(offRampSessions.receiptId, receipt.id));
    expect(rows).toEqual([]);
    return refusal;
  }

  it('refuses receipts that do not exist or are not the caller’s, in the same words', async () => {
    const receipt = await activeReceipt(platform, { farmerId: 'farmer-2' });
    expect(await refusalOf(receipt)).toMatchObject({ code: 'NOT_FOUND' });
    const nowhere = { ...receipt, tokenAddress: network.factoryAddress };
    expect(await refusalOf(nowhere)).toMatchObject({ code: 'NOT_FOUND' });
    expect(await refusalOf({ ...receipt, tokenAddress: 'no address' })).toMatchObject({ code: 'NOT_FOUND' });
    const operator = { subject: 'operator', isOperator: true };
    expect(await cashOut(platform.dependencies, operator, cashOutInput(receipt))).toMatchObject({
      farmerId: 'farmer-2',
      requestedBy: 'operator',
    });
  });

  it('refuses what custody does not hold, and says what to do', async () => {
    const receipt = await activeReceipt(platform, { farmerAddress: network.factoryAddress });
    const details = { requested: '100', available: '0', custodyAddress: network.custodyAddress };
    expect(await refusalOf(receipt)).toMatchObject({ code: 'INSUFFICIENT_BALANCE', details });
    await expect(send(receipt)).rejects.toThrow('transfer the receipt tokens to that address first');
    const part = await activeReceipt(platform, { quantityKg: 99n });
    expect(await refusalOf(part)).toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
      details: { available: '99' },
    });
  });

  it('refuses a paused settlement contract and a paused token', async () => {
    const receipt = await activeReceipt(platform);
    const settlement = (await network.settlementContract())?.address ?? '';
    await network.pauseToken(settlement);
    expect(await refusalOf(receipt)).toMatchObject({
      code: 'LEDGER_REFUSED',
      details: { reason: 'PAUSED' },
    });
    await network.pauseToken(settlement, false);
    await network.pauseToken(receipt.tokenAddress);
    expect(await refusalOf(receipt)).toMatchObject({
      code: 'LEDGER_REFUSED',
      details: { reason: 'PAUSED' },
    });
    await network.pauseToken(receipt.tokenAddress, false);
  });

  it('refuses an expired receipt before anything is stored', async () => {
    const receipt = await activeReceipt(platform);
    const { tokenAddress } = receipt;
    const { dependencies } = platform;
    const expiryOf: typeof network.expiryOf = async () => [
      { tokenAddress, isExpired: true, status: 'DRAFT' },
    ];
    const late = { ...dependencies, network: { ...dependencies.network, expiryOf } };
    await expect(cashOut(late, farmer, cashOutInput(receipt))).rejects.toMatchObject({
      code: 'RECEIPT_EXPIRED',
    });
    const { db } = database.handle;
    expect(await db.$count(offRampSessions, eq(offRampSessions.receiptId, receipt.id))).toBe(0);
  });

  it('refuses an unknown currency and a provider that can not be asked', async () => {
    const receipt = await activeReceipt(platform);
    expect(await refusalOf(receipt, { fiatCurrency: 'EUR' })).toMatchObject({
      code: 'RAMP_REFUSED',
      details: { field: 'input.fiatCurrency' },
    });
    rampFaults = () => 'unreachable';
    expect(await refusalOf(receipt)).toMatchObject({ code: 'RAMP_UNAVAILABLE' });
  });

  it('does not promise the same kilograms twice', async () => {
    const receipt = await activeReceipt(platform, { quantityKg: 150n });
    const results = await Promise.allSettled([send(receipt), send(receipt), send(receipt)]);
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' ? [(result.reason as { code: string }).code] : [],
    );
    expect(reasons).toEqual(['INSUFFICIENT_BALANCE', 'INSUFFICIENT_BALANCE']);
    expect(ramp.calls.get('openSession')).toBe(1);
  });
});

describe('the provider’s faults', () => {
  it('finds a session whose answer was lost by our reference, and opens no second one', async () => {
    rampFaults = (method, n) => (method === 'openSession' && n === 1 ? 'answer-lost' : null);
    const session = await depositedCashOut(platform);
    expect(ramp.calls.get('openSession')).toBe(1);
    expect(ramp.calls.get('findSessionByReference')).toBe(1);
    expect(await manualSessionsOf(session.id)).toHaveLength(1);
  });

  it('goes on by itself when the provider could not be reached', async () => {
    const receipt = await activeReceipt(platform);
    rampFaults = (method) => (method === 'openSession' ? 'unreachable' : null);
    const impatient = { ...platform.dependencies, mutationWaitMs: 200 };
    const pending = await cashOut(impatient, farmer, cashOutInput(receipt));
    expect(pending).toMatchObject({ state: 'OPENING', providerSessionId: null });
    rampFaults = () => null;
    await reaches(platform, pending.id, 'AWAITING_PAYOUT');
  });

  it('reports a refused payout, with nothing deposited', async () => {
    const receipt = await activeReceipt(platform);
    rampFaults = (method) => (method === 'openSession' ? 'refused' : null);
    const key = randomUUID();
    const refused = { code: 'RAMP_REFUSED' };
    await expect(send(receipt, { idempotencyKey: key })).rejects.toMatchObject(refused);
    rampFaults = () => null;
    // The same request gets the same answer.
    await expect(send(receipt, { idempotencyKey: key })).rejects.toMatchObject(refused);
    expect(await network.balanceOf(receipt.tokenAddress, network.custodyAddress)).toBe(toBaseUnits(1000n));
  });

  it('does not open on a quote that has run out', async () => {
    const receipt = await activeReceipt(platform);
    rampFaults = (method) => (method === 'openSession' ? 'unreachable' : null);
    const impatient = { ...platform.dependencies, mutationWaitMs: 200 };
    const { id } = await cashOut(impatient, farmer, cashOutInput(receipt));
    await letQuoteRunOut(id);
    const refused = await reaches(platform, id, 'CLOSED');
    expect(refused.stateReason).toContain('quote ran out');
    expect(await manualSessionsOf(id)).toEqual([]);
  });
});

describe('the deposit’s faults', () => {
  it('deposits once when the answer of the deposit is lost', async () => {
    const receipt = await activeReceipt(platform, { quantityKg: 100n });
    let lost = 0;
    faults = (method) => (method === 'broadcast' && lost++ === 0 ? 'answer-lost' : null);
    await depositedCashOut(platform, receipt);
    expect(lost).toBeGreaterThan(0);
  });

  /** Refuses deposits of sessions that are open at the provider, but not the check before the opening. */
  const refuseDeposits: FaultPlan = (_method, _n, call) =>
    call?.kind === 'depositOffRamp' && call.sessionId.startsWith('manual_') ? 'refused' : null;

  it('closes the session when the deposit is refused', async () => {
    const receipt = await activeReceipt(platform);
    faults = refuseDeposits;
    const sent = send(receipt);
    await expect(sent).rejects.toMatchObject({ code: 'LEDGER_REFUSED' });
    const session = await sessionOf(platform, receipt.id);
    await expect(sent).rejects.toMatchObject({ details: { offRampSessionId: session.id, reason: 'OTHER' } });
    expect(session).toMatchObject({ state: 'CLOSED', providerStatus: 'failed' });
    expect(await ramp.findSessionByReference(session.id)).toMatchObject({ status: 'failed' });
  });

  it('deposits again and confirms when the provider has paid by then', async () => {
    const receipt = await activeReceipt(platform);
    faults = refuseDeposits;
    rampFaults = (method) => (method === 'closeSession' ? 'unreachable' : null);
    const impatient = { ...platform.dependencies, mutationWaitMs: 1_500 };
    const { id } = await cashOut(impatient, farmer, cashOutInput(receipt));
    const closing = await reaches(platform, id, 'CLOSING');
    await setSilently(database.handle.db, closing.providerSessionId ?? '', 'settled');
    faults = () => null;
    rampFaults = () => null;
    const settled = await reaches(platform, id, 'SETTLED');
    expect(settled.depositTxHash).not.toBeNull();
    expect(await depositInUse(network, settled.providerSessionId)).toMatchObject({
      status: 'SETTLED',
    });
  });

  it('flags a payout whose deposit is refused for good as exposure, for an operator', async () => {
    const receipt = await activeReceipt(platform);
    faults = refuseDeposits;
    const opening = ramp.openSession.bind(ramp);
    platform.dependencies.ramp = {
      ...ramp,
      async openSession(request) {
        const opened = await opening(request);
        await setSilently(database.handle.db, opened.sessionId, 'settled');
        return { ...opened, status: 'settled' };
      },
    };
    const flagged = await send(receipt);
    expect(flagged.state).toBe('NEEDS_REVIEW');
    expect(isExposed(flagged)).toBe(true);
  });

  /**
   * Lands a deposit under the session's reference between the provider's opening and the platform's deposit.
   */
  function depositsFirst(depositor: EmbeddedNetwork, tokenAddress: string, amountKg: bigint) {
    const opening = ramp.openSession.bind(ramp);
    platform.dependencies.ramp = {
      ...ramp,
      async openSession(request) {
        const opened = await opening(request);
        const { sessionId } = opened;
        const amount = toBaseUnits(amountKg);
        await land(depositor, { kind: 'depositOffRamp', sessionId, tokenAddress, amount });
        return opened;
      },
    };
  }

  it('does not take a stranger’s deposit under the same reference for ours', async () => {
    const receipt = await activeReceipt(platform);
    const stranger = await createEmbeddedNetwork({
      handle: database.handle,
      secretKey: generateSecretKey(randomBytes),
      clock: systemClock,
      randomBytes,
      settlementAddress: (await network.settlementContract())?.address,
    });
    await network.transfer(receipt.tokenAddress, stranger.custodyAddress, toBaseUnits(1n));
    depositsFirst(stranger, receipt.tokenAddress, 1n);
    await expect(send(receipt)).rejects.toMatchObject({ code: 'LEDGER_REFUSED' });
    const { state, providerSessionId } = await sessionOf(platform, receipt.id);
    expect(state).toBe('CLOSED');
    await land(network, { kind: 'refundOffRamp', sessionId: providerSessionId ?? '' });
  });

  it('knows its own deposit again when the reference turns out to be used', async () => {
    const receipt = await activeReceipt(platform);
    depositsFirst(network, receipt.tokenAddress, 100n);
    const session = await send(receipt);
    expect(session).toMatchObject({ state: 'AWAITING_PAYOUT', depositTxHash: null });
    expect(session.depositedAt).not.toBeNull();
  });
});

describe('deployRampSettlement', () => {
  const deploy = ({ dependencies }: Platform, input: { idempotencyKey: string }) =>
    deployRampSettlement(dependencies, 'operator', input);

  it('deploys one settlement contract, once, and cash-outs use it when it is named', async () => {
    const own = await createTestDatabase();
    const secretKey = generateSecretKey(randomBytes);
    const networkWith = (settlementAddress: string | null) =>
      createEmbeddedNetwork({
        handle: own.handle,
        secretKey,
        clock: systemClock,
        randomBytes,
        // Until a contract is deployed, this names an address without a settlement contract.
        settlementAddress: settlementAddress ?? network.factoryAddress,
      });
    const bare = await networkWith(null);
    const fresh = await platformOn(own.handle, bare);
    await fresh.start();
    const receipt = await activeReceipt(fresh);
    await expect(cashOut(fresh.dependencies, farmer, cashOutInput(receipt))).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await own.handle.sql`INSERT INTO settlement_deployments
      (id, state, treasury_address, deploy_salt, requested_by, created_at)
      VALUES (${randomUUID()}, 'REFUSED', ${bare.custodyAddress}, 'another', 'operator', now())`;
    const inputs = [{ idempotencyKey: randomUUID() }, { idempotencyKey: randomUUID() }];
    const atOnce = await Promise.allSettled(inputs.map((each) => deploy(fresh, each)));
    expect(atOnce.filter(({ status }) => status === 'rejected')).toMatchObject([
      { reason: { code: 'CONFLICT', details: { settlementAddress: null } } },
    ]);
    const input = inputs.find((_, i) => atOnce[i]?.status === 'fulfilled') ?? { idempotencyKey: '' };
    const deployed = await deploy(fresh, input);
    expect(deployed).toMatchObject({ state: 'DEPLOYED', treasuryAddress: bare.custodyAddress });
    expect(await deploy(fresh, input)).toEqual(deployed);
    const isDeployed = {
      code: 'CONFLICT',
      details: { settlementAddress: deployed.settlementAddress },
    };
    const second = { idempotencyKey: randomUUID() };
    await expect(deploy(fresh, second)).rejects.toMatchObject(isDeployed);
    // The platform knows its contract, also when the node does not show it yet.
    const behind = { ...fresh.dependencies, network: { ...bare, findSettlement: async () => null } };
    await expect(deployRampSettlement(behind, 'operator', second)).rejects.toMatchObject(isDeployed);
    await fresh.stop();

    const named = await platformOn(own.handle, await networkWith(deployed.settlementAddress));
    await named.start();
    expect(await depositedCashOut(named, receipt)).toMatchObject({
      settlementAddress: deployed.settlementAddress,
    });
    await named.stop();
    await own.drop();
  });

  it('does not deploy beside the one that is there from the start', async () => {
    const input = { idempotencyKey: randomUUID() };
    await expect(deploy(platform, input)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
  });
});
