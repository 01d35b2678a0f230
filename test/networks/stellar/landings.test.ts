/**
 * A retirement that lands later than others that were signed after it has places in its footprint for what lands before it.
 */
import { afterEach, expect, it } from 'vitest';
import * as calls from '../../../devnet/calls.ts';
import { startStellarTestbed, type StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

it.each([
  { channels: 20, inSecond: 19 },
  // With more channels, what one ledger has room for is less than twice all others.
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
    // Longer by a character, and two digits instead of one. The channel of the late one is the first, and is not free.
    const [, ...second] = await calls.prepareAll(network, round('second', inSecond + 1));
    await send(second);
    closeAll();
    // In a ledger of its own, because the order within one is by chance.
    await send([late]);
    closeAll();
    for (const prepared of [...first, ...second, late]) {
      expect(await network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    }
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(channels + inSecond);
  },
);
