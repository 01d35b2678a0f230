/**
 * A database restored from an old copy, while what the original signed still waits at the node, in no block: a slot that
 * is given away again could be filled twice over with the same burn.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attempts } from '../../../src/db/tables/index.ts';
import { readHalt } from '../../../src/ledger/submission/halts.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { retirement } from '../../support/holding.ts';
import { copyWhileHolding, instancesOn } from '../../support/evm/onInstance.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';

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
    // What the copy signs can replace what waits.
    { ledger: { maxFeePerGasCap: 9n * 10n ** 8n } },
  );
  // The client asks the copy for the second one again, and gets the slot of the first.
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
