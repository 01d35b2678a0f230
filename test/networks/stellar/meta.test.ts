/**
 * Outcomes are read from whatever a node shows of a landed transaction: the return value and events, or only
 * the promised fields.
 */
import { xdr } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { LedgerNetwork, Outcome, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { deployCarbon, mintedCarbon, prepare, retire, settled, TONNE } from '../../../devnet/calls.ts';
import { startRewritingProxy } from '../../support/faults/rewritingProxy.ts';
import type { RewritingProxy } from '../../support/faults/rewritingProxy.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
let proxy: RewritingProxy;
let behindProxy: LedgerNetwork;
let deployed: PreparedTransaction;
let retired: PreparedTransaction;

beforeEach(async () => {
  testbed = await startStellarTestbed({ channels: 1 });
  proxy = await startRewritingProxy(testbed.devnet.url);
  behindProxy = await testbed.open({ rpcUrl: proxy.url });
  deployed = await landed(await prepare(testbed.network, deployCarbon()));
  const tokenAddress = await mintedCarbon(testbed.network, 10n);
  retired = await landed(await prepare(testbed.network, retire(tokenAddress, TONNE)));
});
afterEach(async () => {
  await proxy.close();
  await testbed.close();
});

async function landed(prepared: PreparedTransaction): Promise<PreparedTransaction> {
  await testbed.network.broadcast(prepared.signedBytes);
  expect(await settled(testbed.network, prepared)).toMatchObject({ status: 'succeeded' });
  return prepared;
}

function onLookUps(change: (result: Record<string, unknown>) => void): void {
  proxy.onAnswer = ({ method }, { result }) => {
    if (method === 'getTransaction' && result) change(result);
  };
}

function told(network: LedgerNetwork, ...all: PreparedTransaction[]): Promise<Outcome[]> {
  return Promise.all(all.map((prepared) => network.outcome(prepared)));
}

it('is read without the events beside the meta', async () => {
  onLookUps((result) => delete result['events']);
  expect(await told(behindProxy, deployed, retired)).toEqual(await told(testbed.network, deployed, retired));
});

it('is read without any event: the record that was written has the index', async () => {
  onLookUps((result) => {
    delete result['events'];
    const meta = xdr.TransactionMeta.fromXDR(String(result['resultMetaXdr']), 'base64');
    for (const operation of meta.v4().operations()) operation.events([]);
    result['resultMetaXdr'] = meta.toXDR('base64');
  });
  expect(await told(behindProxy, retired)).toEqual(await told(testbed.network, retired));
});

it('is read of a meta that this library can’t decode, from what stands beside it', async () => {
  onLookUps((result) => (result['resultMetaXdr'] = 'AAAACQ=='));
  expect(await told(behindProxy, deployed, retired)).toEqual(await told(testbed.network, deployed, retired));
});

it('is unknown, not refused, when the node shows nothing of the index', async () => {
  onLookUps((result) => {
    delete result['events'];
    delete result['resultMetaXdr'];
  });
  expect(await told(behindProxy, deployed)).toEqual(await told(testbed.network, deployed));
  await expect(behindProxy.outcome(retired)).rejects.toThrow(NetworkUnavailable);
});

it('is unknown when the answer is garbage', async () => {
  for (const change of [
    (result: Record<string, unknown>) => (result['envelopeXdr'] = 'garbage'),
    (result: Record<string, unknown>) => (result['status'] = 'LANDED'),
    (result: Record<string, unknown>) => (result['latestLedgerCloseTime'] = 'soon'),
    (result: Record<string, unknown>) => delete result['ledger'],
  ]) {
    onLookUps(change);
    await expect(behindProxy.outcome(retired)).rejects.toThrow(NetworkUnavailable);
  }
});

it('is unknown when the node shows another transaction under its hash', async () => {
  proxy.onRequest = ({ method, params }) => {
    if (method === 'getTransaction' && params?.['hash'] === retired.hash) params['hash'] = deployed.hash;
  };
  await expect(behindProxy.outcome(retired)).rejects.toThrow(
    `another transaction in place of ${retired.hash}`,
  );
  expect(await told(behindProxy, deployed)).toMatchObject([{ status: 'succeeded' }]);
});
