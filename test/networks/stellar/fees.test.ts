/**
 * The Stellar adapter's bids for inclusion, and its higher bids for stuck transactions: the same transaction
 * in the same slot, of which one envelope lands.
 */
import { FeeBumpTransaction, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { readAccounts } from '../../../src/ledger/network/stellar/accounts.ts';
import { createNode } from '../../../src/ledger/network/stellar/node.ts';
import { deployCarbon, land, mintedCarbon, prepare, retire, TONNE } from '../../../devnet/calls.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { othersPay } from '../../support/stellar/othersPay.ts';

const CAP_STROOPS = 50_000;
/** So long after it was signed, a transaction counts as stuck. */
const PATIENCE_SECONDS = 10;

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

function bidOf(envelope: Transaction | FeeBumpTransaction): number {
  const isBump = envelope instanceof FeeBumpTransaction;
  const inner = isBump ? envelope.innerTransaction : envelope;
  const data = inner.toEnvelope().v1().tx().ext().sorobanData();
  const resourceFee = Number(data.resourceFee().toBigInt());
  return (Number(envelope.fee) - resourceFee) / (isBump ? 2 : 1);
}

function signedBid({ signedBytes }: PreparedTransaction): number {
  const text = Buffer.from(signedBytes).toString('base64');
  return bidOf(TransactionBuilder.fromXDR(text, testbed.devnet.passphrase));
}

async function landedBump(hash: string): Promise<FeeBumpTransaction> {
  const landed = await createNode(testbed.options).transaction(hash);
  if (landed.status !== 'SUCCESS') throw new Error(`it is ${landed.status}`);
  const envelope = TransactionBuilder.fromXDR(landed.envelope, testbed.devnet.passphrase);
  if (!(envelope instanceof FeeBumpTransaction)) throw new Error('It is no fee bump');
  return envelope;
}

function recorded() {
  const warned: unknown[] = [];
  return { warned, log: { warn: (...line: unknown[]) => void warned.push(line) } };
}

/** Sends again, and returns the hashes of the envelopes that wait. */
async function sendAgain({ signedBytes }: PreparedTransaction, sender = testbed.network): Promise<string[]> {
  expect(await sender.broadcast(signedBytes)).toEqual({ status: 'accepted' });
  return testbed.devnet.controls.waiting();
}

/** Sends a retirement that waits because the price rose after it was signed. */
async function stuckAt(price: number): Promise<PreparedTransaction> {
  const prepared = await prepare(testbed.network, retire(tokenAddress, TONNE));
  await testbed.network.broadcast(prepared.signedBytes);
  await othersPay(testbed, price);
  testbed.devnet.controls.passTime(PATIENCE_SECONDS);
  testbed.devnet.controls.closeLedger();
  expect(await testbed.network.outcome(prepared)).toEqual({ status: 'pending' });
  return prepared;
}

it('bids what others bid, and signs nothing while that is more than the cap', async () => {
  const quiet = await prepare(testbed.network, retire(tokenAddress, TONNE));
  expect(signedBid(quiet)).toBe(100);
  for (let at = 0; at < 30; at += 1) await othersPay(testbed, 90_000);
  await expect(testbed.network.draft(retire(tokenAddress, TONNE))).rejects.toThrow('above the cap of 50000');
  const generous = await testbed.open({ maxInclusionFeeStroops: 100_000 });
  expect(signedBid(await prepare(generous, retire(tokenAddress, TONNE)))).toBe(90_000);
});

it('pays more for what is stuck: the same transaction within, one landing, found under both hashes', async () => {
  const { network, twin, custody } = testbed;
  const stuck = await stuckAt(900);
  const waiting = await sendAgain(stuck);
  expect(waiting).not.toEqual([stuck.hash]);
  expect(await sendAgain(stuck, twin)).toEqual(waiting);
  expect(await network.outcome(stuck)).toEqual({ status: 'pending' });
  testbed.devnet.controls.closeLedger();
  const outcome = await network.outcome(stuck);
  expect(outcome).toMatchObject({ status: 'succeeded', result: { kind: 'retired', retirementIndex: 0 } });
  const bump = await landedBump(stuck.hash);
  expect(bidOf(bump)).toBeGreaterThanOrEqual(1_000);
  expect(bump.feeSource).toBe(custody.publicKey());
  expect(bump.innerTransaction.hash().toString('hex')).toBe(stuck.hash);
  const bumpHash = bump.hash().toString('hex');
  expect(waiting).toEqual([bumpHash]);
  expect(await twin.outcome({ ...stuck, hash: bumpHash })).toEqual(outcome);
  // The retirement stores the same hash as the feed stores for its record.
  const { records } = await network.retirementRecords(tokenAddress, 0, 1);
  for (const hints of [[], [stuck.hash], [bumpHash]]) {
    const wanted = records.map((record) => ({ ...record, hints }));
    expect(await network.retirementTransactions(tokenAddress, wanted)).toEqual(new Map([[0, stuck.hash]]));
  }
  // The node denies the transaction: to the look-up of its ledgers, which expects that, and to the second one.
  testbed.devnet.controls.faults.denyTransactions = 2;
  const unhinted = records.map((record) => ({ ...record, hints: [] }));
  expect(await network.retirementTransactions(tokenAddress, unhinted)).toEqual(new Map());
  const { log, warned } = recorded();
  expect(await sendAgain(stuck, await testbed.open({ log }))).toEqual([]);
  expect(warned).toEqual([]);
  expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  testbed.devnet.controls.release();
  testbed.devnet.controls.setInclusionPrice(100);
  await land(network, retire(tokenAddress, TONNE));
});

it('bids ten times its own bid when that is stuck as well', async () => {
  const { network, devnet } = testbed;
  const stuck = await stuckAt(900);
  const second = await sendAgain(stuck);
  await othersPay(testbed, 4_000);
  expect(await network.outcome(stuck)).toEqual({ status: 'pending' });
  const third = await sendAgain(stuck);
  expect(third).not.toEqual(second);
  // The cap is less than ten times the bid that waits, so it waits on.
  await othersPay(testbed, 20_000);
  expect(await sendAgain(stuck)).toEqual(third);
  devnet.controls.setInclusionPrice(4_000);
  devnet.controls.closeLedger();
  expect(await network.outcome(stuck)).toMatchObject({ status: 'succeeded' });
  const bump = await landedBump(stuck.hash);
  expect(third).toEqual([bump.hash().toString('hex')]);
  expect(bidOf(bump)).toBeGreaterThanOrEqual(10_000);
  // The second envelope never landed, and no longer can, because another one used its sequence.
  devnet.controls.passTime(400);
  devnet.controls.closeLedger();
  expect(await network.outcome({ ...stuck, hash: second[0] ?? '' })).toMatchObject({ status: 'dead' });
  // The node denies the transaction twice: it is found by its sequence, in the envelope that landed.
  devnet.controls.faults.denyTransactions = 2;
  expect(await network.outcome(stuck)).toMatchObject({ status: 'succeeded' });
});

it('leaves in its place what custody can’t pay more for', async () => {
  const { devnet, options } = testbed;
  const custody = testbed.custody.publicKey();
  const stuck = await stuckAt(900);
  const { byAddress } = await readAccounts(createNode(options), [custody]);
  devnet.fund(custody, -(byAddress.get(custody)?.spendableStroops ?? 0n));
  const { log, warned } = recorded();
  expect(await sendAgain(stuck, await testbed.open({ log }))).toEqual([stuck.hash]);
  const reason = expect.stringContaining('txInsufficientBalance') as string;
  expect(warned).toMatchObject([[{ txHash: stuck.hash, answer: { status: 'refused', reason } }, {}]]);
});

it('pays for custody alone, not for what others signed', async () => {
  const { devnet, network, stranger } = testbed;
  const theirs = await prepare(stranger, deployCarbon());
  await stranger.broadcast(theirs.signedBytes);
  await othersPay(testbed, 900);
  devnet.controls.passTime(PATIENCE_SECONDS);
  devnet.controls.closeLedger();
  expect(await sendAgain(theirs)).toEqual([theirs.hash]);
  expect(await network.outcome(theirs)).toEqual({ status: 'pending' });
  expect(await sendAgain(theirs, stranger)).not.toEqual([theirs.hash]);
});

it('lets be what need not, or may not, cost more', async () => {
  const { network, devnet } = testbed;
  // The price that nine of ten pay counts as usual.
  for (let at = 0; at < 10; at += 1) await othersPay(testbed, 100);
  await othersPay(testbed, 900);
  const fresh = await prepare(network, retire(tokenAddress, TONNE));
  expect(signedBid(fresh)).toBe(100);
  await network.broadcast(fresh.signedBytes);
  // Others bid more, but the transaction has not waited long enough to count as stuck.
  devnet.controls.passTime(PATIENCE_SECONDS - 2);
  devnet.controls.closeLedger();
  expect(await sendAgain(fresh)).toEqual([fresh.hash]);
  devnet.controls.closeLedger();
  // A bid ten times as high would be over this adapter's cap.
  expect(await sendAgain(fresh, await testbed.open({ maxInclusionFeeStroops: 999 }))).toEqual([fresh.hash]);
  expect(await sendAgain(fresh)).not.toEqual([fresh.hash]);
  devnet.controls.closeLedger();
  // The fee is high enough: something else delays it.
  devnet.controls.setInclusionPrice(100);
  for (let ledger = 0; ledger < 60; ledger += 1) devnet.controls.closeLedger();
  const late = await prepare(network, retire(tokenAddress, TONNE));
  expect(signedBid(late)).toBe(100);
  devnet.controls.passTime(PATIENCE_SECONDS);
  devnet.controls.closeLedger();
  expect(await sendAgain(late)).toEqual([late.hash]);
});
