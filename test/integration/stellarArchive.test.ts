/**
 * Entries that the network has archived: records that are read all the same, and calls that need them.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { NetworkUnavailable } from '../../src/ledger/network/port.ts';
import { instanceKey, retirementKey } from '../../src/ledger/network/stellar/addresses.ts';
import { land, mintedCarbon, prepare, retire, settled, TONNE } from '../contract/calls.ts';
import { stageStellar } from '../harness/stellarStage.ts';
import type { StellarStage } from '../harness/stellarStage.ts';

let stage: StellarStage;
afterEach(() => stage.close());

async function open(protocolVersion: number): Promise<string> {
  stage = await stageStellar({ channels: 2, simulator: { protocolVersion } });
  return mintedCarbon(stage.network, 10n);
}

describe('records', () => {
  it('are read in one moment with the totals, also those that are archived', async () => {
    const tokenAddress = await open(23);
    for (const note of ['first', 'second', 'third']) {
      await land(stage.network, retire(tokenAddress, TONNE, note));
    }
    const before = await stage.network.retirementRecords(tokenAddress, 0, 200);
    stage.simulator.controls.archive(retirementKey(tokenAddress, 1));
    expect(await stage.network.retirementRecords(tokenAddress, 0, 200)).toEqual(before);
    expect((await stage.network.retirementRecords(tokenAddress, 1, 1)).records).toEqual([before.records[1]]);
  });

  it('are never told with a hole: what can’t be read is unknown', async () => {
    const tokenAddress = await open(23);
    for (const note of ['first', 'second']) await land(stage.network, retire(tokenAddress, TONNE, note));
    // An entry that is counted but lost can't be on a real network; a node may still not show it.
    stage.simulator.controls.remove(retirementKey(tokenAddress, 0));
    const read = stage.network.retirementRecords(tokenAddress, 0, 200);
    await expect(read).rejects.toThrow(NetworkUnavailable);
    expect((await stage.network.retirementRecords(tokenAddress, 1, 200)).records).toHaveLength(1);
  });
});

describe('calls that need archived entries', () => {
  it('restore them along with themselves on today’s protocol', async () => {
    const tokenAddress = await open(23);
    stage.simulator.controls.archive(instanceKey(tokenAddress));
    expect(await land(stage.network, retire(tokenAddress, TONNE))).toEqual({
      kind: 'retired',
      retirementIndex: 0,
    });
  });

  it('are preceded by a restoration of their own on an older one: a recorded attempt that is dead for the call', async () => {
    const tokenAddress = await open(22);
    stage.simulator.controls.archive(instanceKey(tokenAddress));
    const restoring = await prepare(stage.network, retire(tokenAddress, TONNE));
    expect(await stage.network.broadcast(restoring.signedBytes)).toEqual({ status: 'accepted' });
    const outcome = await settled(stage.network, restoring);
    expect(outcome).toMatchObject({
      status: 'dead',
      proof: expect.stringContaining('restored archived entries') as string,
    });
    expect((await stage.network.carbonTotals(tokenAddress)).totalRetirements).toBe(0);

    const calling = await prepare(stage.network, retire(tokenAddress, TONNE));
    expect(calling.sequence).toBe((restoring.sequence ?? 0n) + 1n);
    await stage.network.broadcast(calling.signedBytes);
    expect(await settled(stage.network, calling)).toMatchObject({ status: 'succeeded' });
    expect((await stage.network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  });
});
