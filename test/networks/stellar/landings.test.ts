/**
 * Retirements that land later than others that were signed after them: each has places in its footprint for what lands
 * before it, and nothing is signed that would take more of them than there are.
 */
import { randomUUID } from 'node:crypto';
import { count, isNotNull } from 'drizzle-orm';
import { afterEach, expect, it } from 'vitest';
import { attempts } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import * as calls from '../../../devnet/calls.ts';
import { openProject } from '../../../devnet/platform.ts';
import { startStellarTestbed, type StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { platformOn } from '../../support/platform.ts';

const CHANNELS = 20;
/** For hangs only. */
const PATIENCE_MS = 180_000;

let testbed: StellarTestbed;
afterEach(() => testbed.close());

it('lands after two more ledgers that others of the platform have filled', async () => {
  testbed = await startStellarTestbed({ channels: CHANNELS });
  const { network, devnet } = testbed;
  const tokenAddress = await calls.mintedCarbon(network, 100n);
  devnet.controls.hold();
  const round = (name: string, size: number) =>
    Array.from({ length: size }, (_, at) => calls.retire(tokenAddress, calls.TONNE, `${name} #${at}`));
  const [late, ...first] = await calls.prepareAll(network, round('first', CHANNELS));
  if (!late) throw new Error('Nothing was signed');
  const send = async (all: typeof first) => {
    for (const { signedBytes } of all)
      expect(await network.broadcast(signedBytes)).toEqual({ status: 'accepted' });
  };
  await send(first);
  devnet.controls.closeLedger();
  // The channel of the late one is the first, and is not free.
  const [, ...second] = await calls.prepareAll(network, round('second', CHANNELS));
  await send([...second, late]);
  while (devnet.controls.waiting().length > 0) devnet.controls.closeLedger();
  for (const prepared of [...first, ...second, late]) {
    expect(await network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
  }
  expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(2 * CHANNELS - 1);
});

/** The first retirement that is sent reaches the node only some ledgers after it was signed. */
function holdingBackTheFirst(
  { network, devnet }: StellarTestbed,
  ledgers: number,
  isHolding: () => boolean,
): LedgerNetwork {
  let held: { signedBytes: Uint8Array; untilLedger: number } | null = null;
  return {
    ...network,
    async broadcast(signedBytes) {
      const { sequence } = devnet.controls.latest();
      if (isHolding()) held ??= { signedBytes, untilLedger: sequence + ledgers };
      if (held && Buffer.from(held.signedBytes).equals(signedBytes)) {
        return { status: 'unknown', reason: 'a test holds it back' };
      }
      return network.broadcast(signedBytes);
    },
    async outcome(sent) {
      if (held && devnet.controls.latest().sequence >= held.untilLedger) {
        await network.broadcast(held.signedBytes);
      }
      return network.outcome(sent);
    },
  };
}

it(
  'signs no more than a late one has places for, so that none of 60 fails to land',
  { timeout: PATIENCE_MS },
  async () => {
    const RETIREMENTS = 60;
    const LATE_LEDGERS = 4;
    testbed = await startStellarTestbed({ channels: CHANNELS, devnet: { closeEveryMs: 1_000 } });
    const database = await createTestDatabase({ poolSize: 20 });
    const { handle } = database;
    let isHolding = false;
    const network = holdingBackTheFirst(testbed, LATE_LEDGERS, () => isHolding);
    const platform = await platformOn(handle, network, { mutationWaitMs: PATIENCE_MS });
    await platform.start();
    try {
      const { dependencies } = platform;
      const { tokenAddress } = await openProject(platform, BigInt(RETIREMENTS));
      const bought = {
        buyerId: 'acme',
        tokenAddress,
        amountCO2e: BigInt(RETIREMENTS),
        idempotencyKey: 'all',
      };
      await purchase(dependencies, 'acme', bought);
      isHolding = true;
      const one = { buyerId: 'acme', buyerName: 'Acme Ltd', tokenAddress, amountCO2e: 1n };
      const retired = await Promise.all(
        Array.from({ length: RETIREMENTS }, (_, at) =>
          retire(dependencies, 'acme', { ...one, note: `#${at}`, idempotencyKey: randomUUID() }),
        ),
      );
      expect(new Set(retired.map(({ state }) => state))).toEqual(new Set(['RETIRED']));
      expect((await dependencies.network.carbonTotals(tokenAddress)).totalRetirements).toBe(RETIREMENTS);
      const failed = await handle.db
        .select({ cause: attempts.cause, times: count() })
        .from(attempts)
        .where(isNotNull(attempts.cause))
        .groupBy(attempts.cause);
      expect(failed).toEqual([]);
    } finally {
      await platform.stop();
      await database.drop();
    }
  },
);
