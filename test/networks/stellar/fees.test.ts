/**
 * The Stellar adapter's bids for inclusion, and its higher bids for stuck transactions: the same transaction
 * in the same slot, of which one envelope lands.
 */
import {
  Address,
  FeeBumpTransaction,
  Keypair,
  nativeToScVal,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { outcomeOfSlot } from '../../../src/ledger/submission/slotOutcome.ts';
import { land, mintedCarbon, prepare, retire, TONNE } from '../../../devnet/calls.ts';
import { invoke, startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

const CAP_STROOPS = 50_000;

let testbed: StellarTestbed;
let tokenAddress: string;

beforeEach(async () => {
  testbed = await startStellarTestbed({
    channels: 1,
    // The node keeps waiting transactions, so that only the fee decides.
    devnet: { queueLedgers: 50 },
    network: { maxInclusionFeeStroops: CAP_STROOPS },
  });
  tokenAddress = await mintedCarbon(testbed.network, 10n);
  testbed.devnet.controls.hold();
});
afterEach(() => testbed.close());

function feeOf({ signedBytes }: PreparedTransaction): {
  bid: number;
  transaction: ReturnType<typeof TransactionBuilder.fromXDR>;
} {
  const text = Buffer.from(signedBytes).toString('base64');
  const transaction = TransactionBuilder.fromXDR(text, testbed.devnet.passphrase);
  const isBump = transaction instanceof FeeBumpTransaction;
  const inner = isBump ? transaction.innerTransaction : transaction;
  const data = inner.toEnvelope().v1().tx().ext().sorobanData();
  const resourceFee = Number(data.resourceFee().toBigInt());
  return { bid: (Number(transaction.fee) - resourceFee) / (isBump ? 2 : 1), transaction };
}

/** Another account's transaction lands at a price too high for the waiting ones. */
async function othersPay(price: number): Promise<void> {
  const { devnet, custody } = testbed;
  const payer = Keypair.random();
  devnet.fund(payer.publicKey());
  devnet.controls.setInclusionPrice(price);
  const args = [
    new Address(payer.publicKey()).toScVal(),
    new Address(custody.publicKey()).toScVal(),
    nativeToScVal(1n, { type: 'i128' }),
  ];
  await invoke(devnet, payer, devnet.nativeAsset, 'transfer', args, price);
}

/** Sends a retirement that waits because the price rose after it was signed. */
async function stuckAt(price: number): Promise<PreparedTransaction> {
  const prepared = await prepare(testbed.network, retire(tokenAddress, TONNE));
  await testbed.network.broadcast(prepared.signedBytes);
  await othersPay(price);
  for (let ledger = 0; ledger < 4; ledger += 1) testbed.devnet.controls.closeLedger();
  expect(await testbed.network.outcome(prepared)).toEqual({ status: 'pending' });
  return prepared;
}

it('bids what others bid, and signs nothing while that is more than the cap', async () => {
  const quiet = await prepare(testbed.network, retire(tokenAddress, TONNE));
  expect(feeOf(quiet).bid).toBe(100);
  for (let at = 0; at < 30; at += 1) await othersPay(90_000);
  await expect(testbed.network.draft(retire(tokenAddress, TONNE))).rejects.toThrow('above the cap of 50000');
  const generous = await testbed.open({ maxInclusionFeeStroops: 100_000 });
  expect(feeOf(await prepare(generous, retire(tokenAddress, TONNE))).bid).toBe(90_000);
});

it('replaces what is stuck: the same transaction within, one landing, found under both hashes', async () => {
  const { network, twin, custody } = testbed;
  const first = await stuckAt(900);
  const second = await network.replace(first);
  if (!second) throw new Error('It was not replace');
  const { bid, transaction } = feeOf(second);
  if (!(transaction instanceof FeeBumpTransaction)) throw new Error('It is no fee bump');
  expect(bid).toBeGreaterThanOrEqual(1_000);
  expect(transaction.innerTransaction.hash().toString('hex')).toBe(first.hash);
  expect(transaction.feeSource).toBe(custody.publicKey());
  expect(second.hash).not.toBe(first.hash);
  expect({ ...second, hash: first.hash, signedBytes: first.signedBytes }).toEqual(first);

  expect(await network.outcome(second)).toEqual({ status: 'pending' });
  expect(await network.broadcast(second.signedBytes)).toEqual({ status: 'accepted' });
  testbed.devnet.controls.closeLedger();
  const outcome = await network.outcome(second);
  expect(outcome).toMatchObject({ status: 'succeeded', result: { kind: 'retired', retirementIndex: 0 } });
  expect(await twin.outcome(first)).toEqual(outcome);
  // The retirement stores the same hash as the feed stores for its record.
  expect((await outcomeOfSlot(network, [first, second])).attempt.hash).toBe(first.hash);
  const { records } = await network.retirementRecords(tokenAddress, 0, 1);
  for (const hints of [[], [first.hash], [second.hash]]) {
    const wanted = records.map((record) => ({ ...record, hints }));
    expect(await network.retirementTransactions(tokenAddress, wanted)).toEqual(new Map([[0, first.hash]]));
  }
  // The node denies the transaction: to the look-up of its ledgers, which expects that, and to the second one.
  testbed.devnet.controls.faults.denyTransactions = 2;
  const unhinted = records.map((record) => ({ ...record, hints: [] }));
  expect(await network.retirementTransactions(tokenAddress, unhinted)).toEqual(new Map());
  expect(await network.broadcast(first.signedBytes)).toEqual({ status: 'accepted' });
  expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  testbed.devnet.controls.release();
  testbed.devnet.controls.setInclusionPrice(100);
  await land(network, retire(tokenAddress, TONNE));
});

it('replaces its own bid when that is stuck as well', async () => {
  const first = await stuckAt(900);
  const second = await testbed.network.replace(first);
  if (!second) throw new Error('It was not replace');
  await testbed.network.broadcast(second.signedBytes);
  await othersPay(4_000);
  expect(await testbed.network.outcome(second)).toEqual({ status: 'pending' });
  const third = await testbed.network.replace(second);
  if (!third) throw new Error('It was not replace again');
  expect(feeOf(third).bid).toBeGreaterThanOrEqual(10 * feeOf(second).bid);
  expect(await testbed.network.broadcast(third.signedBytes)).toEqual({ status: 'accepted' });
  testbed.devnet.controls.closeLedger();
  expect(await testbed.network.outcome(third)).toMatchObject({ status: 'succeeded' });
  // The second envelope never landed, and no longer can, because another one used its sequence.
  testbed.devnet.controls.passTime(400);
  testbed.devnet.controls.closeLedger();
  expect(await testbed.network.outcome(second)).toMatchObject({ status: 'dead' });
});

it('lets be what need not, or may not, cost more', async () => {
  const { network } = testbed;
  // The price that nine of ten pay counts as usual.
  for (let at = 0; at < 10; at += 1) await othersPay(100);
  await othersPay(900);
  const fresh = await prepare(network, retire(tokenAddress, TONNE));
  expect(feeOf(fresh).bid).toBe(100);
  await network.broadcast(fresh.signedBytes);
  // Others bid more, but the transaction has not waited long enough to count as stuck.
  expect(await network.replace(fresh)).toBeNull();
  for (let ledger = 0; ledger < 4; ledger += 1) testbed.devnet.controls.closeLedger();
  expect(await network.replace(fresh)).not.toBeNull();
  // A bid ten times as high would be over this adapter's cap.
  const thrifty = await testbed.open({ maxInclusionFeeStroops: 999 });
  expect(await thrifty.replace(fresh)).toBeNull();
  // The fee is high enough: something else delays it.
  testbed.devnet.controls.setInclusionPrice(100);
  for (let ledger = 0; ledger < 60; ledger += 1) testbed.devnet.controls.closeLedger();
  expect(await network.replace(fresh)).toBeNull();
});
