/**
 * A chain that contradicts a final block, before that history is accepted: it may be one node's fork. The
 * platform reads it, and stores nothing of it permanently.
 */
import { encodeFunctionData, hexToBytes, toHex, type Hex } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countStored } from '../../../src/feed/appendRecords.ts';
import { carbonTokenAbi } from '../../../src/ledger/network/evm/contracts.ts';
import {
  ChainReorganised,
  type LedgerNetwork,
  type SentTransaction,
} from '../../../src/ledger/network/port.ts';
import { findRetirement } from '../../../src/resolvers/carbon/findRetirement.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { deployCarbon, prepare, retire as burn, TONNE } from '../../../devnet/calls.ts';
import type { Anvil } from '../../../devnet/evm/anvil.ts';
import { startEvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startEvmTestbed, type EvmTestbed } from '../../support/evm/testbed.ts';
import { holding, retirement } from '../../support/holding.ts';
import { platformOn } from '../../support/platform.ts';

let testbed: EvmTestbed;
beforeAll(async () => {
  testbed = await startEvmTestbed();
});
afterAll(() => testbed.close());

/** Replaces blocks below the latest one that the network has seen. */
async function rewrite(node: Anvil, network: LedgerNetwork): Promise<void> {
  await node.mine(10);
  await network.status();
  await node.rpc('anvil_rollback', [5]);
  await node.advanceTime(1000);
  await node.mine(9);
  expect(await network.continuity()).toMatchObject({ status: 'rewritten' });
}

async function send(network: LedgerNetwork, sent: SentTransaction & { signedBytes: Uint8Array }) {
  expect(await network.broadcast(sent.signedBytes)).toEqual({ status: 'accepted' });
  await expect
    .poll(() => testbed.anvil.rpc('eth_getTransactionReceipt', [sent.hash]))
    .toMatchObject({ blockNumber: expect.any(String) });
  return sent;
}

/** Lands a transaction of custody's key that the product did not sign. */
async function landByHand(fields: { to: string; data?: Hex; gas?: Hex }): Promise<SentTransaction> {
  const source = testbed.custody.address;
  const { rpc } = testbed.anvil;
  const sequence = BigInt((await rpc('eth_getTransactionCount', [source, 'latest'])) as string);
  const hash = (await rpc('eth_sendTransaction', [{ from: source, ...fields }])) as Hex;
  await expect.poll(() => rpc('eth_getTransactionReceipt', [hash])).not.toBeNull();
  return { hash, source, sequence, validUntil: null, preparedAtLedger: 0n, signedBytes: hexToBytes('0x') };
}

it('shows its records as such, and neither their transactions nor what died there', async () => {
  const network = await testbed.open();
  const deployed = await network.outcome(await send(network, await prepare(network, deployCarbon())));
  if (deployed.status !== 'succeeded' || deployed.result.kind !== 'deployed')
    throw new Error(deployed.status);
  const token = deployed.result.contractAddress;
  const mint = {
    kind: 'mint',
    tokenAddress: token,
    to: network.custodyAddress,
    amount: 10n * TONNE,
  } as const;
  await send(network, await prepare(network, mint));
  const burned = await send(network, await prepare(network, burn(token, TONNE)));
  const [record] = (await network.retirementRecords(token, 0, 10)).records;
  if (!record) throw new Error('the burn has no record');
  expect(await network.retirementRecords(token, 0, 10)).not.toHaveProperty('rewritten');
  const unsent = await prepare(network, burn(token, TONNE));

  await rewrite(testbed.anvil, network);
  const page = await network.retirementRecords(token, 0, 10);
  expect(page).toMatchObject({
    records: [record],
    rewritten: expect.stringMatching(/^Block \d+ was final as/),
  });
  await expect(network.retirementTransactions(token, [{ ...record, hints: [burned.hash] }])).rejects.toThrow(
    ChainReorganised,
  );
  // Another transaction uses the nonce on this branch.
  await landByHand({ to: testbed.custody.address });
  await expect(network.outcome(unsent)).rejects.toThrow(ChainReorganised);
  const data = encodeFunctionData({
    abi: carbonTokenAbi,
    functionName: 'retire',
    args: [TONNE, 'Acme', 'too little gas'],
  });
  const outOfGas = await landByHand({ to: token, data, gas: toHex(40_000) });
  await expect(network.outcome(outOfGas)).rejects.toThrow(ChainReorganised);
  expect(await network.outcome(burned)).toMatchObject({ status: 'succeeded' });
});

it('gets its records stored once it is accepted, which does not wait for them', async () => {
  const world = await startEvmWorld({ ledger: { reorgConfirmedAfterMs: 1_000 } });
  const database = await createTestDatabase();
  const { db } = database.handle;
  const network = await connectLedger(world.ledger, database.handle);
  let tokenAddress = '';
  const storedAtEnd: number[] = [];
  const platform = await platformOn(
    database.handle,
    {
      ...network,
      // Called when the halt of signing may end, before the history is accepted.
      async presentHistory() {
        storedAtEnd.push(await countStored(db, tokenAddress));
        return network.presentHistory();
      },
    },
    { continuityPollMs: 1_000 },
  );
  try {
    const { dependencies } = platform;
    await platform.start();
    tokenAddress = await holding(platform, 100n);
    await world.node.mine(10);
    await network.status();
    dependencies.mutationWaitMs = 0;
    await world.node.rpc('evm_setAutomine', [false]);
    const { id } = await retire(dependencies, 'acme', retirement(tokenAddress, 30n));
    await expect.poll(() => world.node.rpc('txpool_status', [])).toMatchObject({ pending: '0x1' });
    // The transaction lands on another branch.
    await world.node.rpc('anvil_rollback', [5]);
    await world.node.advanceTime(1000);
    await world.node.mine(9);
    await world.node.rpc('evm_setAutomine', [true]);

    await expect
      .poll(() => findRetirement(dependencies, id), { timeout: 30_000 })
      .toMatchObject({ state: 'RETIRED', recordIndex: 0 });
    await expect.poll(() => network.continuity(), { timeout: 60_000 }).toEqual({ status: 'whole' });
    expect(storedAtEnd).toEqual([0]);
    await dependencies.feedFiller.round();
    expect(await countStored(db, tokenAddress)).toBe(1);
  } finally {
    await platform.stop();
    await database.drop();
    await world.close();
  }
}, 120_000);
