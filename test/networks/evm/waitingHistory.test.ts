/**
 * A database restored from an old copy, while what the original signed still waits at the node, in no block: a slot that
 * is given away again could be filled twice over with the same burn.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EvmLedger } from '../../../src/ledger/network/evm/settings.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { attempts } from '../../../src/db/tables/index.ts';
import { readHalt } from '../../../src/ledger/submission/sequenceSlots.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openProject } from '../../../devnet/platform.ts';
import { platformOn } from '../../support/platform.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';

let world: EvmWorld;
beforeAll(async () => {
  world = await startEvmWorld({ mining: { everySeconds: 1 } });
});
afterAll(() => world.close());

async function onInstance<T>(
  url: string,
  work: (platform: Platform, handle: DatabaseHandle) => Promise<T>,
  ledger: Partial<EvmLedger> = {},
): Promise<T> {
  const handle = openDatabase({ url, poolSize: 5, applicationName: 'waiting history' });
  const platform = await platformOn(handle, await connectLedger({ ...world.ledger, ...ledger }, handle), {
    mutationWaitMs: 30_000,
  });
  await platform.start();
  try {
    return await work(platform, handle);
  } finally {
    await platform.stop();
    await handle.close();
  }
}

it('halts before anything is signed, and burns nothing twice', async () => {
  const original = await createTestDatabase();
  await original.handle.close();
  const tokenAddress = await onInstance(original.url, async (platform) => {
    const project = await openProject(platform, 100n);
    await purchase(platform.dependencies, 'acme', {
      buyerId: 'acme',
      tokenAddress: project.tokenAddress,
      amountCO2e: 100n,
      idempotencyKey: randomUUID(),
    });
    return project.tokenAddress;
  });
  const copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  const retirement = (amountCO2e: bigint) => ({
    buyerId: 'acme',
    buyerName: 'Acme Ltd',
    tokenAddress,
    amountCO2e,
    note: '',
    idempotencyKey: randomUUID(),
  });
  const second = retirement(20n);
  await world.node.rpc('evm_setIntervalMining', [0]);
  await onInstance(
    original.url,
    async ({ dependencies }, handle) => {
      dependencies.mutationWaitMs = 0;
      for (const [at, input] of [retirement(10n), second].entries()) {
        await retire(dependencies, 'acme', input);
        const isOpen = eq(attempts.state, 'OPEN');
        await expect.poll(() => handle.db.$count(attempts, isOpen)).toBe(at + 1);
      }
      await delay(1_000);
    },
    // What the copy signs can replace what waits.
    { maxFeePerGasCap: 9n * 10n ** 8n },
  );
  // The client asks the copy for the second one again, and gets the slot of the first.
  await onInstance(copy.url, async ({ dependencies }, handle) => {
    dependencies.mutationWaitMs = 0;
    await retire(dependencies, 'acme', second);
    await delay(3_000);
    await world.node.rpc('evm_setIntervalMining', [1]);
    await delay(5_000);
    const { totalRetired } = await dependencies.network.carbonTotals(tokenAddress);
    expect(totalRetired).toBe(30n * 10n ** 18n);
    expect(await readHalt(handle.db)).not.toBeNull();
  });
  await Promise.all([original.drop(), copy.drop()]);
});
