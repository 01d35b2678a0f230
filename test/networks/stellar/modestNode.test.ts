/**
 * A Stellar node with fewer methods: calls are made and found without fee statistics, lists of transactions
 * or the network's settings.
 */
import { FeeBumpTransaction, Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { deploy, deployCarbon, land, mintedCarbon, prepare, retire, TONNE } from '../../../devnet/calls.ts';
import { startRewritingProxy } from '../../support/faults/rewritingProxy.ts';
import type { RewritingProxy } from '../../support/faults/rewritingProxy.ts';
import { othersPay } from '../../support/stellar/othersPay.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

const UNKNOWN = new Set(['getFeeStats', 'getTransactions', 'getEvents', 'getHealth', 'getLatestLedger']);
const VALIDITY_SECONDS = 60;

let testbed: StellarTestbed;
let proxy: RewritingProxy;
let modest: LedgerNetwork;
let tokenAddress: string;

beforeEach(async () => {
  testbed = await startStellarTestbed({ channels: 1 });
  proxy = await startRewritingProxy(testbed.devnet.url);
  proxy.onAnswer = ({ method }, answer) => {
    if (!UNKNOWN.has(method ?? '')) return;
    delete answer.result;
    Object.assign(answer, { error: { code: -32_601, message: 'method not found' } });
  };
  modest = await testbed.open({ rpcUrl: proxy.url, validitySeconds: VALIDITY_SECONDS });
  tokenAddress = await mintedCarbon(modest, 10n);
});
afterEach(async () => {
  await proxy.close();
  await testbed.close();
});

it('lands calls, and reads what they did', async () => {
  expect(await land(modest, retire(tokenAddress, TONNE))).toEqual({ kind: 'retired', retirementIndex: 0 });
  expect((await modest.retirementRecords(tokenAddress, 0, 200)).records).toHaveLength(1);
});

it('finds what custody deployed', async () => {
  const carbon = deployCarbon();
  expect(await modest.findToken(carbon)).toBeNull();
  const deployed = await deploy(modest, carbon);
  expect(await modest.findToken(carbon)).toBe(deployed);
});

it('pays no more for what waits while it knows no price', async () => {
  const { devnet } = testbed;
  devnet.controls.hold();
  const prepared = await prepare(modest, retire(tokenAddress, TONNE));
  await modest.broadcast(prepared.signedBytes);
  await othersPay(testbed, 900);
  devnet.controls.passTime(20);
  devnet.controls.closeLedger();
  expect(await modest.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  expect(devnet.controls.waiting()).toEqual([prepared.hash]);
  const network = await testbed.open({ validitySeconds: VALIDITY_SECONDS });
  await network.broadcast(prepared.signedBytes);
  expect(devnet.controls.waiting()).not.toEqual([prepared.hash]);
});

it('takes the transaction also when it answers nothing about the fee bump around it', async () => {
  const { devnet } = testbed;
  devnet.controls.hold();
  const network = await testbed.open({ rpcUrl: proxy.url });
  const prepared = await prepare(network, retire(tokenAddress, TONNE));
  await network.broadcast(prepared.signedBytes);
  await othersPay(testbed, 900);
  devnet.controls.passTime(20);
  devnet.controls.closeLedger();
  let bumps = 0;
  proxy.onAnswer = ({ method, params }, answer) => {
    if (method !== 'sendTransaction') return;
    const sent = TransactionBuilder.fromXDR(String(params?.transaction), devnet.passphrase);
    if (!(sent instanceof FeeBumpTransaction)) return;
    bumps += 1;
    delete answer.result;
    Object.assign(answer, { error: { code: -32_603, message: 'received exception from stellar-core' } });
  };
  expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  expect(bumps).toBe(1);
});

it('is not believed when it says once that what landed did not', async () => {
  testbed.devnet.controls.hold();
  const prepared = await prepare(modest, retire(tokenAddress, TONNE));
  await modest.broadcast(prepared.signedBytes);
  testbed.devnet.controls.closeLedger();
  testbed.devnet.controls.passTime(VALIDITY_SECONDS + 10);
  testbed.devnet.controls.closeLedger();
  testbed.devnet.controls.faults.denyTransactions = 1;
  expect(await modest.outcome(prepared)).toMatchObject({ status: 'succeeded' });
});

it('leaves to an operator what used an own sequence: only the platform can have', async () => {
  testbed.devnet.controls.hold();
  const first = await prepare(modest, retire(tokenAddress, TONNE, 'first'));
  const second = await prepare(modest, retire(tokenAddress, TONNE, 'second'));
  await modest.broadcast(first.signedBytes);
  testbed.devnet.controls.closeLedger();
  expect(await modest.outcome(second)).toEqual({ status: 'pending' });
  testbed.devnet.controls.passTime(VALIDITY_SECONDS + 10);
  testbed.devnet.controls.closeLedger();
  expect(await modest.outcome(second)).toMatchObject({ status: 'undeterminable' });
  expect(await modest.outcome(first)).toMatchObject({ status: 'succeeded' });
  // The node is not believed either when the channel's key is no longer configured.
  const without = await testbed.open({ rpcUrl: proxy.url, channelSecretKeys: [] });
  expect(await without.outcome(second)).toMatchObject({ status: 'undeterminable' });
});

it('is believed of a holder’s act, once the holder used the sequence for something else', async () => {
  const holder = Keypair.random();
  testbed.devnet.fund(holder.publicKey());
  const to = holder.publicKey();
  await land(modest, { kind: 'mint', tokenAddress, to, amount: 10n * TONNE });
  const act = { kind: 'retire', tokenAddress, amount: TONNE, beneficiary: 'Me', note: '' } as const;
  const [first, second] = await Promise.all(
    [act, { ...act, note: 'another' }].map(async (each) => {
      const unsigned = await modest.prepareForHolder(each, to);
      const transaction = TransactionBuilder.fromXDR(unsigned.payload, testbed.devnet.passphrase);
      transaction.sign(holder);
      return modest.openSigned(each, unsigned, transaction.toXDR());
    }),
  );
  if (!first || !second) throw new Error('not reached');
  testbed.devnet.controls.hold();
  await modest.broadcast(first.signedBytes);
  await testbed.advanceClock(700);
  expect(await modest.outcome(second)).toMatchObject({ status: 'dead', usedBy: null });
  expect(await modest.outcome(first)).toMatchObject({ status: 'succeeded' });
});
