/**
 * Entries that the network has archived: records that are read all the same, and calls that need them.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { instanceKey, retirementKey } from '../../../src/ledger/network/stellar/addresses.ts';
import { land, mintedCarbon, prepare, retire, settled, TONNE } from '../../../devnet/calls.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

async function open(protocolVersion: number): Promise<string> {
  testbed = await startStellarTestbed({ channels: 2, simulator: { protocolVersion } });
  return mintedCarbon(testbed.network, 10n);
}

describe('records', () => {
  it('are read in one moment with the totals, also those that are archived', async () => {
    const tokenAddress = await open(23);
    for (const note of ['first', 'second', 'third']) {
      await land(testbed.network, retire(tokenAddress, TONNE, note));
    }
    const before = await testbed.network.retirementRecords(tokenAddress, 0, 200);
    testbed.simulator.controls.archive(retirementKey(tokenAddress, 1));
    expect(await testbed.network.retirementRecords(tokenAddress, 0, 200)).toEqual(before);
    expect((await testbed.network.retirementRecords(tokenAddress, 1, 1)).records).toEqual([
      before.records[1],
    ]);
  });

  it('are never told with a hole: what can’t be read is unknown', async () => {
    const tokenAddress = await open(23);
    for (const note of ['first', 'second']) await land(testbed.network, retire(tokenAddress, TONNE, note));
    // An entry that is counted but lost can't be on a real network; a node may still not show it.
    testbed.simulator.controls.remove(retirementKey(tokenAddress, 0));
    const read = testbed.network.retirementRecords(tokenAddress, 0, 200);
    await expect(read).rejects.toThrow(NetworkUnavailable);
    expect((await testbed.network.retirementRecords(tokenAddress, 1, 200)).records).toHaveLength(1);
  });
});

describe('calls that need archived entries', () => {
  it('restore them along with themselves on today’s protocol', async () => {
    const tokenAddress = await open(23);
    testbed.simulator.controls.archive(instanceKey(tokenAddress));
    expect(await land(testbed.network, retire(tokenAddress, TONNE))).toEqual({
      kind: 'retired',
      retirementIndex: 0,
    });
  });

  it('are preceded by a restoration of their own on an older one: a recorded attempt that is dead for the call', async () => {
    const tokenAddress = await open(22);
    testbed.simulator.controls.archive(instanceKey(tokenAddress));
    const restoring = await prepare(testbed.network, retire(tokenAddress, TONNE));
    expect(await testbed.network.broadcast(restoring.signedBytes)).toEqual({ status: 'accepted' });
    const outcome = await settled(testbed.network, restoring);
    expect(outcome).toMatchObject({
      status: 'dead',
      proof: expect.stringContaining('restored archived entries') as string,
    });
    expect((await testbed.network.carbonTotals(tokenAddress)).totalRetirements).toBe(0);

    const calling = await prepare(testbed.network, retire(tokenAddress, TONNE));
    expect(calling.sequence).toBe((restoring.sequence ?? 0n) + 1n);
    await testbed.network.broadcast(calling.signedBytes);
    expect(await settled(testbed.network, calling)).toMatchObject({ status: 'succeeded' });
    expect((await testbed.network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  });
});
