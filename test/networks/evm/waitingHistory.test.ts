/**
 * A database restored from an old copy, while transactions of the original still wait at the node, in no
 * block: a slot that is assigned again could be filled with the same burn a second time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { toHex } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attempts, retirements } from '../../../src/db/tables/index.ts';
import { readHalt } from '../../../src/ledger/submission/halts.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { retirement } from '../../support/holding.ts';
import { copyWhileHolding, decideReview, instancesOn } from '../../support/onInstance.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { startFaultyNode } from '../../../devnet/evm/faultyNode.ts';

let world: EvmWorld;
beforeAll(async () => {
  world = await startEvmWorld({ mining: { everySeconds: 1 } });
});
afterAll(() => world.close());

const onInstance = instancesOn(() => world);

it('halts before anything is signed, and burns nothing twice', async () => {
  const { original, copy, tokenAddress, drop } = await copyWhileHolding(onInstance, 100n);
  const second = retirement(tokenAddress, 20n);
  await world.node.rpc('evm_setIntervalMining', [0]);
  await onInstance(
    original.url,
    async ({ dependencies, handle }) => {
      dependencies.mutationWaitMs = 0;
      for (const [at, input] of [retirement(tokenAddress, 10n), second].entries()) {
        await retire(dependencies, 'acme', input);
        const isOpen = eq(attempts.state, 'OPEN');
        await expect.poll(() => handle.db.$count(attempts, isOpen)).toBe(at + 1);
      }
      await delay(1_000);
    },
    // A low cap, so that the copy's transactions can replace the waiting ones.
    { ledger: { maxFeePerGasCap: 9n * 10n ** 8n } },
  );
  // The client sends the second request to the copy again, and it gets the slot of the first.
  await onInstance(copy.url, async ({ dependencies, handle }) => {
    dependencies.mutationWaitMs = 0;
    await retire(dependencies, 'acme', second);
    await delay(3_000);
    await world.node.rpc('evm_setIntervalMining', [1]);
    await delay(5_000);
    const { totalRetired } = await dependencies.network.carbonTotals(tokenAddress);
    expect(totalRetired).toBe(30n * 10n ** 18n);
    expect(await readHalt(handle.db)).not.toBeNull();
  });
  await drop();
});

it('halts also for what waits behind a nonce that nothing has, and would land behind the same burn', async () => {
  const { node } = world;
  const { original, copy, tokenAddress, drop } = await copyWhileHolding(onInstance, 100n);
  const second = retirement(tokenAddress, 20n);
  await node.rpc('evm_setIntervalMining', [0]);
  const [never, sent] = await onInstance(original.url, async ({ dependencies, handle }) => {
    dependencies.mutationWaitMs = 0;
    const isOpen = eq(attempts.state, 'OPEN');
    for (const [at, input] of [retirement(tokenAddress, 10n), second].entries()) {
      await retire(dependencies, 'acme', input);
      await expect.poll(() => handle.db.$count(attempts, isOpen)).toBe(at + 1);
    }
    await expect.poll(() => node.rpc('txpool_status', [])).toMatchObject({ pending: '0x2' });
    return handle.db.select().from(attempts).where(isOpen).orderBy(attempts.sequence);
  });
  if (never?.sequence == null || sent?.sequence == null) throw new Error('nothing is open');
  // The first of the two transactions has never reached the node.
  await node.rpc('anvil_dropAllTransactions', []);
  await node.rpc('eth_sendRawTransaction', [toHex(sent.signedBytes ?? [])]);
  expect(await node.rpc('txpool_status', [])).toEqual({ pending: '0x0', queued: '0x1' });

  // Anvil keeps the queued transaction, but lacks this method.
  const queued = { [String(sent.sequence)]: { hash: sent.hash } };
  const own = await startFaultyNode(node.url);
  own.obey(({ method }) =>
    method === 'txpool_contentFrom' ? { result: { pending: {}, queued } } : undefined,
  );
  await onInstance(
    copy.url,
    async (instance) => {
      const { dependencies, handle } = instance;
      dependencies.mutationWaitMs = 0;
      await retire(dependencies, 'acme', second);
      await expect.poll(() => readHalt(handle.db)).toMatch(/after what waits at the node/);
      await node.rpc('evm_setIntervalMining', [1]);
      // A transaction by hand fills the gap, and the waiting one lands.
      const from = dependencies.network.custodyAddress;
      await node.rpc('eth_sendTransaction', [{ from, to: from, nonce: toHex(never.sequence ?? 0n) }]);
      const totals = () => dependencies.network.carbonTotals(tokenAddress);
      await expect.poll(totals, { timeout: 20_000 }).toMatchObject({ totalRetirements: 1 });
      await expect
        .poll(() => handle.db.select().from(retirements), { timeout: 20_000 })
        .toMatchObject([{ state: 'NEEDS_REVIEW' }]);
      await decideReview(instance, 'ADOPT');
      expect(await handle.db.select().from(retirements)).toMatchObject([
        { state: 'RETIRED', amountTonnes: 20n },
      ]);
      expect(await totals()).toMatchObject({ totalRetirements: 1, totalRetired: 20n * 10n ** 18n });
    },
    { ledger: { rpcUrl: own.url } },
  );
  await own.close();
  await drop();
}, 120_000);
