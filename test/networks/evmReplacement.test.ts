/**
 * A wallet that raises its fee, as wallets on EVM chains do: the same act with the same nonce takes the place of the
 * first, another nonce does not, and one of them lands.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Platform } from '../../src/compose.ts';
import type { LedgerNetwork, UnsignedTransaction } from '../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { findHolderAct, readActTransactions, type HolderAct } from '../../src/resolvers/findHolderAct.ts';
import { prepareRetirement } from '../../src/resolvers/prepareRetirement.ts';
import { submitSigned } from '../../src/resolvers/submitSigned.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { connectLedger } from '../harness/ledgers.ts';
import { openProject, platformOn } from '../harness/platform.ts';
import { retirementInput } from '../harness/walletRetirements.ts';
import { CALLER, EVENTUALLY } from '../harness/walletWorld.ts';
import { startEvmWorld, type EvmWorld } from './evmWorld.ts';
import type { Holder } from './world.ts';

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

/** As a wallet lets its user change what it was given. */
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
  const dearer = await holder.sign(changed(act.unsigned, 2n, 0));
  expect(await submitSigned(impatient, await reread(act), dearer)).toMatchObject({ state: 'SUBMITTED' });
  const waiting = await readActTransactions(platform.dependencies, await reread(act));
  expect(waiting.map(({ state }) => state)).toEqual(['OPEN', 'OPEN']);

  // Sent by the worker before anything is mined.
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
});

it('is EXPIRED when the wallet replaced it past us, and says to look first', async () => {
  const impatient = { ...platform.dependencies, mutationWaitMs: 200 };
  const act = await prepareRetirement(platform.dependencies, CALLER, retirementInput(tokenAddress, holder));
  await world.node.rpc('evm_setAutomine', [false]);
  await submitSigned(impatient, act, await holder.sign(act.unsigned));
  await world.node.rpc('eth_sendRawTransaction', [await holder.sign(changed(act.unsigned, 3n, 0))]);
  await world.node.rpc('evm_setAutomine', [true]);
  await world.node.rpc('evm_mine', []);
  await expect.poll(async () => (await reread(act)).state, EVENTUALLY).toBe('EXPIRED');
  expect((await reread(act)).submission?.message).toContain('make sure that the wallet has not sent it');
  // Which it has: once, and nothing here signs again.
  expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(2);
});
