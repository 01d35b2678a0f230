/**
 * A database restored from an old copy, while an EVM chain and a provider know later cash-outs: what the
 * platform sees of these, what an operator does, and that books, network and provider agree in the end
 * (docs/operations.md).
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eq, isNotNull, sql } from 'drizzle-orm';
import { encodeFunctionData, type Hex } from 'viem';
import { signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import { commodityTokenAbi, settlementAbi } from '../../../devnet/evm/referenceAbi.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { landTransaction } from '../../../devnet/evm/landTransaction.ts';
import { startRampServer, type RampServer } from '../../../devnet/rampServer.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { hashText } from '../../../src/ledger/network/evm/addresses.ts';
import { readHalt } from '../../../src/ledger/submission/halts.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { receivePayoutHint } from '../../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { decideHalt } from '../../support/decisions.ts';
import { decideReview, instancesOn, type Instance } from '../../support/onInstance.ts';
import { EVENTUALLY } from '../../support/wallets/walletWorld.ts';
import {
  activeReceipt,
  cashOutInput,
  decideSession,
  depositedCashOut,
  farmer,
  reaches,
} from '../../support/warehouse.ts';

let world: EvmWorld;
let provider: RampServer;
let original: TestDatabase;
let copy: TestDatabase;
beforeAll(async () => {
  world = await startEvmWorld();
  provider = await startRampServer();
  original = await createTestDatabase();
  await original.handle.close();
});
afterAll(async () => {
  await original.drop();
  await copy.drop();
  await provider.close();
  await world.close();
});

const onInstance = instancesOn(() => world);
const ramp = () =>
  ({
    kind: 'http',
    name: 'ramp',
    url: provider.url,
    apiKey: 'key',
    callbackSecrets: [],
    requestsPerSecond: 1000,
  }) as const;
const on = <T>(url: string, work: (instance: Instance) => Promise<T>) =>
  onInstance(url, work, { ramp: ramp() });

type Session = Awaited<ReturnType<typeof depositedCashOut>>;
type Receipt = Awaited<ReturnType<typeof activeReceipt>>;

async function paid(instance: Instance, session: Session): Promise<void> {
  const payout = provider.payouts.get(session.providerSessionId);
  if (payout) payout.status = 'settled';
  await receivePayoutHint(instance.dependencies, session.providerSessionId);
}

/** Sends with custody's key, as an operator does with the network's tools. */
const call = (to: string | undefined, data: Hex) =>
  landTransaction(world.node, { from: world.node.accounts[1]?.address, to, data });

const refundOf = (sessionId: string) =>
  encodeFunctionData({
    abi: settlementAbi,
    functionName: 'refundOffRamp',
    args: [hashText(sessionId)],
  });

async function found({ dependencies }: Instance): Promise<string[]> {
  const { findings } = await reconcileAll(dependencies);
  return findings.map(({ invariant, message }) => `${invariant} ${message}`).toSorted();
}

/**
 * Continues on the original: the session that the copy knows ends, and two sessions that the copy does not
 * know are deposited.
 */
async function goOnWithoutCopy(instance: Instance, known: Session, receipt: Receipt) {
  await paid(instance, known);
  await reaches(instance, known.id, 'SETTLED');
  const waiting = await depositedCashOut(instance, receipt, { tokenAmount: 200n });
  const settled = await depositedCashOut(instance, receipt, { tokenAmount: 300n, idempotencyKey: 'lost' });
  await paid(instance, settled);
  await reaches(instance, settled.id, 'SETTLED');
  return { waiting, settled };
}

it('is brought to agreement with the network and the provider, and pays nothing twice', async () => {
  const { receipt, known } = await on(original.url, async (instance) => {
    const active = await activeReceipt(instance);
    return { receipt: active, known: await depositedCashOut(instance, active) };
  });
  copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  const lost = await on(original.url, (instance) => goOnWithoutCopy(instance, known, receipt));

  await on(copy.url, async (instance) => {
    const { dependencies, handle } = instance;
    await expect.poll(() => readHalt(handle.db), EVENTUALLY).toMatch(/the database is an old copy/);
    const state = async (id: string) => (await findOffRampSession(dependencies, id))?.state;
    await expect.poll(() => state(known.id), EVENTUALLY).toBe('NEEDS_REVIEW');

    // The reconciliation sees the deposit of the lost waiting session and the end of the known one, and
    // nothing of the ended one.
    const [sums, ...others] = await found(instance);
    expect(sums).toMatch(/^I9 .* holds 200\d{18} base units, open off-ramp sessions say 100\d{18}$/);
    expect(others).toEqual([]);
    expect((await reconcileAll(dependencies)).notProved).toContainEqual({
      invariant: 'I13',
      obstacle: 'UNDER_REVIEW',
      message: `off-ramp session ${known.id} is NEEDS_REVIEW, and the settlement contract shows SETTLED already`,
    });
    expect(await receivePayoutHint(dependencies, lost.settled.providerSessionId)).toBe('unknown-session');

    // The known session: the operator accepts the state on the network.
    expect(await decideReview(instance, 'GIVE_UP')).toMatchObject({ state: 'REFUSED' });
    const accepted = {
      offRampSessionId: known.id,
      decision: 'ACCEPT',
      reason: 'as the network has it',
    } as const;
    expect(await decideSession(dependencies, 'operator', accepted)).toMatchObject({
      state: 'SETTLED',
    });

    // The lost waiting session: it is cancelled at the provider, then refunded.
    const payout = provider.payouts.get(lost.waiting.providerSessionId);
    if (payout) payout.status = 'failed';
    await call(world.ledger.settlementAddress, refundOf(lost.waiting.providerSessionId));
    expect(await found(instance)).toEqual([]);

    // The lost paid session: all paid tokens came back to custody, which is the treasury, and the operator
    // moves them to a separate account.
    const [apart = '0x'] = world.node.accounts.slice(2).map(({ address }) => address);
    const paidKg = encodeFunctionData({
      abi: commodityTokenAbi,
      functionName: 'transfer',
      args: [apart, toBaseUnits(400n)],
    });
    await call(receipt.tokenAddress, paidKg);
    expect(await found(instance)).toEqual([]);

    // The lost session is requested again under its key: a new session is made, and given up before it
    // deposits.
    const request = cashOutInput(receipt, { tokenAmount: 300n, idempotencyKey: 'lost' });
    const again = await cashOut({ ...dependencies, mutationWaitMs: 0 }, farmer, request);
    expect(again.id).not.toBe(lost.settled.id);
    await expect.poll(() => state(again.id), EVENTUALLY).toBe('NEEDS_REVIEW');
    await decideReview(instance, 'GIVE_UP');
    await reaches(instance, again.id, 'CLOSED');
    const { providerSessionId } = (await findOffRampSession(dependencies, again.id)) ?? {};
    expect(provider.payouts.get(providerSessionId ?? '')).toMatchObject({ status: 'failed' });

    await decideHalt(dependencies, 'operator', { reason: 'books, network and provider agree' });
    // Of the 1000 kg, those 400 were paid.
    const tooMuch = cashOut(dependencies, farmer, cashOutInput(receipt, { tokenAmount: 601n }));
    await expect(tooMuch).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
    await paid(instance, await depositedCashOut(instance, receipt, { tokenAmount: 600n }));
    await expect.poll(() => found(instance), EVENTUALLY).toEqual([]);
  });
});

it('does not deposit again what was lost and is asked for again, although books and network agree', async () => {
  const before = await createTestDatabase();
  await before.handle.close();
  const receipt = await on(before.url, activeReceipt);
  const restored = await createTestDatabase({ copyOf: before });
  await restored.handle.close();
  const request = cashOutInput(receipt, { tokenAmount: 300n });
  await on(before.url, async (instance) => {
    const settled = await depositedCashOut(instance, receipt, request);
    await paid(instance, settled);
    await reaches(instance, settled.id, 'SETTLED');
  });

  await on(restored.url, async (instance) => {
    const { dependencies, handle } = instance;
    const again = await cashOut({ ...dependencies, mutationWaitMs: 0 }, farmer, request);
    const submission = async () =>
      (await handle.db.select().from(submissions).where(eq(submissions.targetId, again.id)))[0];
    // Makes each look due; the last look, after the end of the halt, resumes the waiting submissions.
    const pollsLeft = async () => {
      await handle.db
        .update(signingAccounts)
        .set({ reviewDueAt: sql`least(${signingAccounts.reviewDueAt}, now() + interval '1 second')` })
        .where(isNotNull(signingAccounts.haltedBecause));
      return handle.db.$count(signingAccounts, isNotNull(signingAccounts.reviewDueAt));
    };
    await expect.poll(submission, EVENTUALLY).toMatchObject({
      stateReason: expect.stringContaining('the database is an old copy'),
    });
    await expect.poll(pollsLeft, EVENTUALLY).toBe(0);
    expect(await submission()).toMatchObject({ state: 'NEEDS_REVIEW', reviewCause: 'SIGNING_RESUMED' });
    expect(await readHalt(handle.db)).toBeNull();
    await decideReview(instance, 'GIVE_UP');
    await reaches(instance, again.id, 'CLOSED');
  });
  await before.drop();
  await restored.drop();
});
