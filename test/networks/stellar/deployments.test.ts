/**
 * The deployments of custody, read from a node that is behind in its events or in everything.
 */
import { xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { deploy, deployCarbon } from '../../../devnet/calls.ts';
import { startStellarTestbed, type StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { startRewritingProxy, type RewritingProxy } from '../../support/faults/rewritingProxy.ts';

let testbed: StellarTestbed;
let proxy: RewritingProxy;
beforeAll(async () => {
  testbed = await startStellarTestbed({ channels: 1 });
  proxy = await startRewritingProxy(testbed.devnet.url);
});
afterAll(async () => {
  await proxy.close();
  await testbed.close();
});

/** The present ledger may have the deploy of an earlier test. */
async function nextLedger(network: LedgerNetwork): Promise<bigint> {
  return (await network.status()).ledger + 1n;
}

it.each([
  ['the events', ['getEvents']],
  ['the events and the latest ledger', ['getEvents', 'getTransaction']],
])('is unknown where the node that shows %s is behind', async (_name, methods) => {
  const network = await testbed.open({ rpcUrl: proxy.url });
  const ledger = await nextLedger(network);
  const token = await deploy(testbed.network, deployCarbon());
  await network.nextSequences();
  let isBehind = true;
  proxy.onAnswer = ({ method = '' }, { result }) => {
    if (!result || !isBehind || !methods.includes(method)) return;
    result['latestLedger'] = Number(ledger) - 5;
    if (method === 'getEvents') result['events'] = [];
  };
  await expect(network.tokensDeployedSince(ledger)).rejects.toThrow(NetworkUnavailable);
  isBehind = false;
  expect(await network.tokensDeployedSince(ledger)).toEqual([token]);
});

it('take one question, and are unknown where the answer does not say how far it reaches', async () => {
  const network = await testbed.open({ rpcUrl: proxy.url });
  const ledger = await nextLedger(network);
  const token = await deploy(testbed.network, deployCarbon());
  let questions = 0;
  proxy.onAnswer = ({ method }) => void (questions += method === 'getEvents' ? 1 : 0);
  expect(await network.tokensDeployedSince(ledger)).toEqual([token]);
  expect(questions).toBe(1);
  proxy.onAnswer = ({ method }, { result }) => {
    if (method === 'getEvents' && result) delete result['cursor'];
  };
  await expect(network.tokensDeployedSince(ledger)).rejects.toThrow(NetworkUnavailable);
});

it.each([
  // As after the ten thousand ledgers that a node searches for one request.
  { page: 'ends before the latest ledger', count: 0, behind: 1 },
  { page: 'is full', count: 1_000, behind: 0 },
])('are also on the page after one that $page', async ({ count, behind }) => {
  const network = await testbed.open({ rpcUrl: proxy.url });
  const ledger = await nextLedger(network);
  const token = await deploy(testbed.network, deployCarbon());
  const pages: unknown[] = [];
  proxy.onAnswer = ({ method }, { result }) => {
    if (method !== 'getEvents' || !result) return;
    const [deployed] = result['events'] as object[];
    const other = { ...deployed, value: xdr.ScVal.scvVoid().toXDR('base64') };
    if (pages.length === 0) {
      pages.push(
        Array.from({ length: count }, () => other),
        [deployed],
      );
      result['cursor'] = `${BigInt(Number(result['latestLedger']) - behind) << 32n}-0`;
    }
    result['events'] = pages.shift();
  };
  expect(await network.tokensDeployedSince(ledger)).toEqual([token]);
});
