/**
 * A retirement that lands later than others that were signed after it has places in its footprint for all
 * that land before it.
 */
import { afterEach, expect, it } from 'vitest';
import * as calls from '../../../devnet/calls.ts';
import { startStellarTestbed, type StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

it.each([
  { channels: 20, inSecond: 19 },
  // With more channels, one ledger has room for less than twice all other channels.
  { channels: 22, inSecond: 13 },
])(
  'lands after two more ledgers, of all $channels channels and of $inSecond',
  async ({ channels, inSecond }) => {
    testbed = await startStellarTestbed({ channels });
    const { network, devnet } = testbed;
    const tokenAddress = await calls.mintedCarbon(network, 100n);
    devnet.controls.hold();
    const round = (name: string, size: number) =>
      Array.from({ length: size }, (_, at) => calls.retire(tokenAddress, calls.TONNE, `${name} #${at}`));
    const [late, ...first] = await calls.prepareAll(network, round('first', channels));
    if (!late) throw new Error('Nothing was signed');
    const send = async (all: typeof first) => {
      for (const { signedBytes } of all)
        expect(await network.broadcast(signedBytes)).toEqual({ status: 'accepted' });
    };
    const closeAll = () => {
      while (devnet.controls.waiting().length > 0) devnet.controls.closeLedger();
    };
    await send(first);
    closeAll();
    // Notes are a character longer, and indexes have two digits. The first channel is not free: the late one
    // has it.
    const [, ...second] = await calls.prepareAll(network, round('second', inSecond + 1));
    await send(second);
    closeAll();
    // The late one lands in a separate ledger, because the order within a ledger is random.
    await send([late]);
    closeAll();
    for (const prepared of [...first, ...second, late]) {
      expect(await network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    }
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(channels + inSecond);
  },
);
