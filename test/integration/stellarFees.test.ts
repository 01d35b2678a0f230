/**
 * What the Stellar adapter bids to be included, and how it bids more for what is stuck: the same transaction in the
 * same slot, of which one envelope lands.
 */
import {
  Address,
  FeeBumpTransaction,
  Keypair,
  nativeToScVal,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PreparedTransaction } from '../../src/ledger/network/port.ts';
import { land, mintedCarbon, prepare, retire, TONNE } from '../contract/calls.ts';
import { invoke, stageStellar } from '../harness/stellarStage.ts';
import type { StellarStage } from '../harness/stellarStage.ts';

const CAP_STROOPS = 50_000;

let stage: StellarStage;
let tokenAddress: string;

beforeEach(async () => {
  stage = await stageStellar({
    channels: 1,
    // The node keeps what waits, so that only the fee decides.
    simulator: { queueTimeoutLedgers: 50 },
    network: { maxInclusionFeeStroops: CAP_STROOPS },
  });
  tokenAddress = await mintedCarbon(stage.network, 10n);
  stage.simulator.controls.hold();
});
afterEach(() => stage.close());

function feeOf({ signedBytes }: PreparedTransaction): {
  bid: number;
  transaction: ReturnType<typeof TransactionBuilder.fromXDR>;
} {
  const text = Buffer.from(signedBytes).toString('base64');
  const transaction = TransactionBuilder.fromXDR(text, stage.simulator.passphrase);
  const isBump = transaction instanceof FeeBumpTransaction;
  const inner = isBump ? transaction.innerTransaction : transaction;
  const data = inner.toEnvelope().v1().tx().ext().sorobanData();
  const resourceFee = Number(data.resourceFee().toBigInt());
  return { bid: (Number(transaction.fee) - resourceFee) / (isBump ? 2 : 1), transaction };
}

/** Others land at a price that is too high for what waits. */
async function othersPay(price: number): Promise<void> {
  const { simulator, custody } = stage;
  const payer = Keypair.random();
  simulator.fund(payer.publicKey());
  simulator.controls.setInclusionPrice(price);
  simulator.controls.release();
  const args = [
    new Address(payer.publicKey()).toScVal(),
    new Address(custody.publicKey()).toScVal(),
    nativeToScVal(1n, { type: 'i128' }),
  ];
  await invoke(simulator, payer, simulator.nativeAsset, 'transfer', args, price);
  simulator.controls.hold();
}

/** A retirement that waits because the price went up after it was signed. */
async function stuckAt(price: number): Promise<PreparedTransaction> {
  const prepared = await prepare(stage.network, retire(tokenAddress, TONNE));
  await stage.network.broadcast(prepared.signedBytes);
  await othersPay(price);
  for (let ledger = 0; ledger < 4; ledger += 1) stage.simulator.controls.closeLedger();
  expect(await stage.network.outcome(prepared)).toEqual({ status: 'pending' });
  return prepared;
}

it('bids what others bid, and no more than the cap', async () => {
  const quiet = await prepare(stage.network, retire(tokenAddress, TONNE));
  expect(feeOf(quiet).bid).toBe(100);
  for (let at = 0; at < 30; at += 1) await othersPay(90_000);
  expect(feeOf(await prepare(stage.network, retire(tokenAddress, TONNE))).bid).toBe(CAP_STROOPS);
});

it('outbids what is stuck: the same transaction within, one landing, told under both hashes', async () => {
  const { network, twin, custody } = stage;
  const first = await stuckAt(900);
  const second = await network.outbid(first);
  if (!second) throw new Error('It was not outbid');
  const { bid, transaction } = feeOf(second);
  if (!(transaction instanceof FeeBumpTransaction)) throw new Error('It is no fee bump');
  expect(bid).toBeGreaterThanOrEqual(1_000);
  expect(transaction.innerTransaction.hash().toString('hex')).toBe(first.hash);
  expect(transaction.feeSource).toBe(custody.publicKey());
  expect(second.hash).not.toBe(first.hash);
  expect({ ...second, hash: first.hash, signedBytes: first.signedBytes }).toEqual(first);

  expect(await network.outcome(second)).toEqual({ status: 'pending' });
  expect(await network.broadcast(second.signedBytes)).toEqual({ status: 'accepted' });
  stage.simulator.controls.closeLedger();
  const outcome = await network.outcome(second);
  expect(outcome).toMatchObject({ status: 'succeeded', result: { kind: 'retired', retirementIndex: 0 } });
  expect(await twin.outcome(first)).toEqual(outcome);
  expect(await network.broadcast(first.signedBytes)).toEqual({ status: 'accepted' });
  expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  stage.simulator.controls.release();
  stage.simulator.controls.setInclusionPrice(100);
  await land(network, retire(tokenAddress, TONNE));
});

it('outbids its own bid when that is stuck as well', async () => {
  const first = await stuckAt(900);
  const second = await stage.network.outbid(first);
  if (!second) throw new Error('It was not outbid');
  await stage.network.broadcast(second.signedBytes);
  await othersPay(4_000);
  expect(await stage.network.outcome(second)).toEqual({ status: 'pending' });
  const third = await stage.network.outbid(second);
  if (!third) throw new Error('It was not outbid again');
  expect(feeOf(third).bid).toBeGreaterThanOrEqual(10 * feeOf(second).bid);
  expect(await stage.network.broadcast(third.signedBytes)).toEqual({ status: 'accepted' });
  stage.simulator.controls.closeLedger();
  expect(await stage.network.outcome(third)).toMatchObject({ status: 'succeeded' });
  // The second envelope never landed, and can't any more: another one used its sequence.
  stage.simulator.controls.passTime(400);
  stage.simulator.controls.closeLedger();
  expect(await stage.network.outcome(second)).toMatchObject({ status: 'dead' });
});

it('lets be what need not, or may not, cost more', async () => {
  const { network } = stage;
  await othersPay(900);
  const fresh = await prepare(network, retire(tokenAddress, TONNE));
  expect(feeOf(fresh).bid).toBe(100);
  await network.broadcast(fresh.signedBytes);
  // Others bid more, but it has not waited long enough to say that it is stuck.
  expect(await network.outbid(fresh)).toBeNull();
  for (let ledger = 0; ledger < 4; ledger += 1) stage.simulator.controls.closeLedger();
  expect(await network.outbid(fresh)).not.toBeNull();
  // Ten times its bid would be over this adapter's cap.
  const thrifty = await stage.open({ maxInclusionFeeStroops: 999 });
  expect(await thrifty.outbid(fresh)).toBeNull();
  // Its fee is as good as any: something else keeps it.
  stage.simulator.controls.setInclusionPrice(100);
  for (let ledger = 0; ledger < 60; ledger += 1) stage.simulator.controls.closeLedger();
  expect(await network.outbid(fresh)).toBeNull();
});
