/**
 * A wallet that raises its fee, as wallets on EVM chains do: the same act with the same nonce replaces the
 * first transaction, one with another nonce is refused, and one of the two lands.
 */
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { holderActs, submissions } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork, UnsignedTransaction } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { findHolderAct, type HolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import { prepareRetirement } from '../../../src/resolvers/wallets/prepareRetirement.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openProject } from '../../../devnet/platform.ts';
import { platformOn } from '../../support/platform.ts';
import { activeReceipt, reaches } from '../../support/warehouse.ts';
import { depositInputOf, prepareDeposit } from '../../support/wallets/walletCashOuts.ts';
import { retirementInput } from '../../support/wallets/walletRetirements.ts';
import { CALLER, EVENTUALLY } from '../../support/wallets/walletWorld.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import type { Holder } from '../../../devnet/world.ts';
import { readActTransactions } from '../../support/histories.ts';

let world: EvmWorld;
let database: TestDatabase;
let network: LedgerNetwork;
let platform: Platform;
let holder: Holder;
let tokenAddress: string;

beforeAll(async () => {
  world = await startEvmWorld();
  database = await createTestDatabase();
  network = await connectLedger(world.ledger, database.handle);
  platform = await platformOn(database.handle, network);
  await platform.start();
  holder = await world.createHolder();
  ({ tokenAddress } = await openProject(platform, 1000n));
  await world.transferFromCustody(tokenAddress, holder.address, toBaseUnits(100n));
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
  await world.close();
});

/** Changes fees and nonce, as a wallet lets its user do. */
function changed(unsigned: UnsignedTransaction, factor: bigint, nonces: number): UnsignedTransaction {
  const call = JSON.parse(unsigned.payload) as Record<string, string>;
  const times = (quantity: string | undefined) => `0x${(BigInt(quantity ?? 0) * factor).toString(16)}`;
  const fees = {
    maxFeePerGas: times(call['maxFeePerGas']),
    maxPriorityFeePerGas: times(call['maxPriorityFeePerGas']),
    nonce: `0x${(BigInt(call['nonce'] ?? 0) + BigInt(nonces)).toString(16)}`,
  };
  return { ...unsigned, payload: JSON.stringify({ ...call, ...fees }) };
}

const reread = async ({ id }: HolderAct): Promise<HolderAct> => {
  const act = await findHolderAct(platform.dependencies, id);
  if (!act) throw new Error(`act ${id} has vanished`);
  return act;
};

it('replaces the first transaction, and lands once', async () => {
  const impatient = { ...platform.dependencies, mutationWaitMs: 200 };
  const act = await prepareRetirement(platform.dependencies, CALLER, retirementInput(tokenAddress, holder));
  await world.node.rpc('evm_setAutomine', [false]);
  const first = await submitSigned(impatient, act, await holder.sign(act.unsigned));
  expect(first.state).toBe('SUBMITTED');

  const another = await holder.sign(changed(act.unsigned, 2n, 1));
  await expect(submitSigned(impatient, await reread(act), another)).rejects.toMatchObject({
    code: 'CONFLICT',
  });
  // State after half an hour of looks: the replacement is sent all the same.
  await database.handle.db
    .update(submissions)
    .set({ fruitlessSteps: 29, dueAt: sql`now() + interval '10 minutes'` })
    .where(eq(submissions.state, 'PENDING'));
  const dearer = await holder.sign(changed(act.unsigned, 2n, 0));
  expect(await submitSigned(impatient, await reread(act), dearer)).toMatchObject({ state: 'SUBMITTED' });
  const waiting = await readActTransactions(platform.dependencies, await reread(act));
  expect(waiting.map(({ state }) => state)).toEqual(['OPEN', 'OPEN']);

  // The worker sends the replacement before anything is mined.
  const pending = async () => {
    const block = await world.node.rpc('eth_getBlockByNumber', ['pending', false]);
    return (block as { transactions: string[] }).transactions;
  };
  await expect.poll(pending, EVENTUALLY).toContain(waiting[1]?.txHash);
  await world.node.rpc('evm_setAutomine', [true]);
  await world.node.rpc('evm_mine', []);
  await expect.poll(async () => (await reread(act)).state, EVENTUALLY).toBe('LANDED');
  const landed = await reread(act);
  expect(landed.submission?.txHash).toBe(waiting[1]?.txHash);
  const decided = await readActTransactions(platform.dependencies, landed);
  expect(decided.map(({ state }) => state)).toEqual(['DEAD', 'LANDED']);
  expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);

  // A client whose answer was lost asks with what it sent: a refusal would say that nothing was sent.
  for (const signed of [await holder.sign(act.unsigned), dearer]) {
    expect(await submitSigned(impatient, await reread(act), signed)).toMatchObject({ state: 'LANDED' });
  }
});

/**
 * Replaces the transaction in the wallet only: the first is dead, another has landed, without a notification.
 */
async function replacedPastUs(nonces = 0, prepared?: HolderAct): Promise<{ act: HolderAct; landed: string }> {
  const impatient = { ...platform.dependencies, mutationWaitMs: 200 };
  const act =
    prepared ??
    (await prepareRetirement(platform.dependencies, CALLER, retirementInput(tokenAddress, holder)));
  await world.node.rpc('evm_setAutomine', [false]);
  await submitSigned(impatient, act, await holder.sign(act.unsigned));
  if (nonces > 0) await sendNothing(act.unsigned);
  const landed = await holder.sign(changed(act.unsigned, 3n, nonces));
  await world.node.rpc('eth_sendRawTransaction', [landed]);
  await world.node.rpc('evm_setAutomine', [true]);
  await world.node.rpc('evm_mine', []);
  await expect.poll(async () => (await reread(act)).state, EVENTUALLY).toBe('EXPIRED');
  return { act: await reread(act), landed };
}

/** Cancels as a wallet does: a transfer of nothing uses the nonce. */
async function sendNothing(unsigned: UnsignedTransaction): Promise<void> {
  const call = JSON.parse(changed(unsigned, 3n, 0).payload) as Record<string, string>;
  const nothing = { ...call, to: holder.address, data: '0x', value: '0x0' };
  const signed = await holder.sign({ ...unsigned, payload: JSON.stringify(nothing) });
  await world.node.rpc('eth_sendRawTransaction', [signed]);
}

const retirementsOf = async () => (await network.carbonTotals(tokenAddress)).totalRetirements;

it('is EXPIRED when the wallet replaced it past us, and LANDED when that comes back too', async () => {
  const { act, landed } = await replacedPastUs();
  expect(act.submission?.stateReason).toContain('Make sure that the wallet has not sent it');
  expect(await retirementsOf()).toBe(2);

  const done = await submitSigned(platform.dependencies, act, landed);
  expect(done).toMatchObject({ state: 'LANDED', recordIndex: 1 });
  expect(await submitSigned(platform.dependencies, await reread(act), landed)).toMatchObject({
    state: 'LANDED',
    recordIndex: 1,
  });
  const transactions = await readActTransactions(platform.dependencies, await reread(act));
  expect(transactions.map(({ state }) => state)).toEqual(['DEAD', 'LANDED']);
  expect(await retirementsOf()).toBe(2);
  const { findings } = await reconcileAll(platform.dependencies);
  // The holder's credits were moved out of custody outside of the product.
  expect(findings.filter(({ invariant }) => invariant !== 'I2')).toEqual([]);
});

it('is LANDED also when the wallet cancelled it, and sent it once more', async () => {
  const { act, landed } = await replacedPastUs(1);
  expect(await submitSigned(platform.dependencies, act, landed)).toMatchObject({
    state: 'LANDED',
    recordIndex: 2,
  });
  expect(await retirementsOf()).toBe(3);
});

it('is a deposit that was found before, and now its transaction is known', async () => {
  const receipt = await activeReceipt(platform, { farmerAddress: holder.address });
  const prepared = await prepareDeposit({ platform, network }, holder, depositInputOf(receipt, holder));
  const { act, landed } = await replacedPastUs(0, prepared.act);
  const found = await reaches(platform, prepared.session.id, 'AWAITING_PAYOUT');
  expect(found).toMatchObject({ depositTxHash: null });
  const done = await submitSigned(platform.dependencies, act, landed);
  expect(done).toMatchObject({ state: 'LANDED' });
  expect(await findOffRampSession(platform.dependencies, found.id)).toMatchObject({
    state: 'AWAITING_PAYOUT',
    depositedAt: found.depositedAt,
    depositTxHash: done.submission?.txHash,
  });
});

it('stays EXPIRED for what has not landed, and is not sent any more', async () => {
  const { act } = await replacedPastUs();
  const before = await retirementsOf();
  const { dependencies } = platform;
  const submitted = await holder.sign(act.unsigned);
  await expect(submitSigned(dependencies, act, submitted)).rejects.toMatchObject({
    code: 'LEDGER_REFUSED',
    details: { reason: 'EXPIRED' },
  });
  const another = await holder.sign(changed(act.unsigned, 5n, 0));
  await expect(submitSigned(dependencies, act, another)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('this has not landed') as string,
  });
  const able = await holder.sign(changed(act.unsigned, 1n, 1));
  await expect(submitSigned(dependencies, act, able)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('can still land') as string,
  });
  expect(await reread(act)).toMatchObject({ state: 'EXPIRED' });
  expect(await retirementsOf()).toBe(before);
});

it('has one submission, unless that is dead', async () => {
  const act = await prepareRetirement(platform.dependencies, CALLER, retirementInput(tokenAddress, holder));
  const { submission } = await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
  const { act: other } = await replacedPastUs();
  const move = (id: string, submissionId: string | null) =>
    database.handle.db.update(holderActs).set({ submissionId }).where(eq(holderActs.id, id));
  const refused = { cause: { message: expect.stringContaining('is set once') as string } };
  await expect(move(act.id, null)).rejects.toMatchObject(refused);
  await expect(move(act.id, other.submission?.id ?? '')).rejects.toMatchObject(refused);
  await expect(move(other.id, null)).rejects.toMatchObject(refused);
  expect((await reread(act)).submission?.id).toBe(submission?.id);
});
