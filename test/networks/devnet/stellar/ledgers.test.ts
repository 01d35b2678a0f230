/**
 * The ledgers of the network: which transactions they include, what they charge, and how long they are
 * remembered.
 */
import { rpc, TransactionBuilder } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clockOf, createHolder, inclusionOf, lumensOf, sequenceOf } from '../../../support/stellar/holder.ts';
import type { Holder } from '../../../support/stellar/holder.ts';
import { address, i128 } from '../../../support/stellar/values.ts';
import { retireArguments, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';

let testbed: SorobanTestbed;
let holder: Holder;

beforeAll(async () => {
  testbed = await startSorobanTestbed();
});
afterAll(() => testbed.devnet.close());
beforeEach(async () => {
  testbed.devnet.controls.setInclusionPrice(100);
  holder = await createHolder(testbed);
});

describe('a ledger', () => {
  it('leaves out what is too late by its clock, for good', async () => {
    const late = holder.changed(await holder.retirement(), { maxTime: clockOf(testbed) + 4 });
    expect(await holder.send(late)).toBe('PENDING');
    testbed.devnet.controls.closeLedger();
    expect(await holder.statusOf(late)).toBe('NOT_FOUND');
    expect(await holder.send(late)).toBe('TRY_AGAIN_LATER');
    testbed.devnet.controls.skipLedgers(11);
    expect(await holder.send(late)).toBe('txTooLate');
  });

  it('leaves out what pays too little for it, and drops it after four', async () => {
    testbed.devnet.controls.setInclusionPrice(5_000);
    const cheap = await holder.retirement();
    expect(await holder.send(cheap)).toBe('PENDING');
    for (const _ of [1, 2, 3, 4]) testbed.devnet.controls.closeLedger();
    expect(testbed.devnet.controls.waiting().length).toBe(0);
    expect(await holder.send(cheap)).toBe('TRY_AGAIN_LATER');
    testbed.devnet.controls.skipLedgers(11);
    testbed.devnet.controls.setInclusionPrice(100);
    expect(await holder.send(cheap)).toBe('PENDING');
    testbed.devnet.controls.closeLedger();
    expect(await holder.statusOf(cheap)).toBe('SUCCESS');
  });

  it('shows in its fee statistics what was paid', async () => {
    const price = 5_000;
    testbed.devnet.controls.setInclusionPrice(price);
    const original = await holder.retirement();
    const dear = holder.changed(original, { fee: String(BigInt(original.fee) + BigInt(price)) });
    expect(await holder.send(dear)).toBe('PENDING');
    testbed.devnet.controls.closeLedger();
    const { sorobanInclusionFee } = await testbed.client.server.getFeeStats();
    expect(Number(sorobanInclusionFee.max)).toBeGreaterThanOrEqual(price);
  });

  it('lands a call that fails, at the price of fee and sequence number', async () => {
    const { client, token } = testbed;
    const first = await client.prepare(holder.keys, token, 'retire', retireArguments(holder.keys, 10n));
    // Meanwhile the tokens go to another account.
    const other = testbed.account();
    const { custody } = testbed;
    await client.call(holder.keys, token, 'transfer', [
      address(holder.keys.publicKey()),
      address(custody.publicKey()),
      i128(5n),
    ]);
    const late = holder.changed(first, { sequence: BigInt(first.sequence) + 1n });
    const [before, sequence] = [await lumensOf(testbed, holder.keys), await sequenceOf(testbed, holder.keys)];
    const landed = await client.land(late);
    if (landed.status !== rpc.Api.GetTransactionStatus.FAILED) throw new Error(landed.status);
    const [result] = landed.resultXdr.result().results();
    expect(result?.tr().invokeHostFunctionResult().switch().name).toBe('invokeHostFunctionTrapped');
    const errors = (landed.diagnosticEventsXdr ?? [])
      .map((event) => event.event().body().v0().topics()[1])
      .filter((topic) => topic?.switch().name === 'scvError')
      .map((topic) => topic?.error().contractCode());
    expect(errors[0]).toBe(2);
    expect(await lumensOf(testbed, holder.keys)).toBeLessThan(before);
    expect(await sequenceOf(testbed, holder.keys)).toBe(sequence + 1n);
    expect(await client.read(token, 'balance', [address(other.publicKey())])).toBe(0n);
    expect(await client.read(token, 'balance', [address(holder.keys.publicKey())])).toBe(5n);
  });
});

describe('a fee bump', () => {
  it('takes the place of what waits at ten times its fee, and is found by either hash', async () => {
    testbed.devnet.controls.setInclusionPrice(1_000);
    const payer = testbed.account();
    const inner = await holder.retirement();
    expect(await holder.send(inner)).toBe('PENDING');
    testbed.devnet.controls.closeLedger();
    expect(await holder.statusOf(inner)).toBe('NOT_FOUND');
    const tooLittle = holder.bump(inner, 999, payer);
    expect(inclusionOf(tooLittle)).toBeLessThan(2_000n);
    expect(await holder.send(tooLittle)).toBe('txInsufficientFee');
    const enough = holder.bump(inner, 1_000, payer);
    expect(await holder.send(enough)).toBe('PENDING');
    expect(await holder.send(inner)).toBe('DUPLICATE');
    expect(await holder.send(enough)).toBe('DUPLICATE');
    const before = await lumensOf(testbed, holder.keys);
    testbed.devnet.controls.closeLedger();
    expect(await holder.statusOf(enough)).toBe('SUCCESS');
    const byInner = await testbed.client.server.getTransaction(inner.hash().toString('hex'));
    expect(byInner).toMatchObject({ status: 'SUCCESS', feeBump: true });
    expect(await lumensOf(testbed, holder.keys)).toBe(before);
    expect(await lumensOf(testbed, payer)).toBeLessThan(100_000_000_000n);
  });

  it('says how much would have been enough', async () => {
    const inner = await holder.retirement();
    expect(await holder.send(inner)).toBe('PENDING');
    const answer = await testbed.client.server.sendTransaction(holder.bump(inner, 500, holder.keys));
    expect(answer.errorResult?.result().switch().name).toBe('txInsufficientFee');
    expect(answer.errorResult?.feeCharged().toBigInt()).toBe(2_000n);
    testbed.devnet.controls.closeLedger();
  });

  it('is refused for what is wrong with the transaction inside, and for its own signature', async () => {
    const original = await holder.retirement();
    const stale = holder.changed(original, { maxTime: clockOf(testbed) - 1 });
    expect(await holder.send(holder.bump(stale, 1_000, holder.keys))).toBe('txFeeBumpInnerFailed');
    const unsigned = TransactionBuilder.buildFeeBumpTransaction(
      holder.keys,
      '1000',
      original,
      testbed.devnet.passphrase,
    );
    expect(await holder.send(unsigned)).toBe('txBadAuth');
  });
});

describe('history', () => {
  it('forgets what is older than its window', async () => {
    const small = await startSorobanTestbed({ retentionLedgers: 20 });
    try {
      const { client, custody, token, devnet } = small;
      const landed = await client.land(
        await client.prepare(custody, token, 'retire', retireArguments(custody, 1n)),
      );
      const hash = landed.txHash;
      expect((await client.server.getTransaction(hash)).status).toBe('SUCCESS');
      devnet.controls.skipLedgers(19);
      expect((await client.server.getTransaction(hash)).status).toBe('SUCCESS');
      const { sequence } = devnet.controls.closeLedger();
      const gone = await client.server.getTransaction(hash);
      expect(gone).toMatchObject({
        status: 'NOT_FOUND',
        oldestLedger: sequence - 19,
        latestLedger: sequence,
      });
      expect(gone.latestLedgerCloseTime - gone.oldestLedgerCloseTime).toBe(19 * 5);
      const startLedger = sequence - 20;
      await expect(client.server.getEvents({ startLedger, filters: [] })).rejects.toMatchObject({
        code: -32_600,
      });
    } finally {
      await small.devnet.close();
    }
  });

  it('lists transactions by ledger, page by page', async () => {
    const first = await testbed.client.land(await holder.retirement());
    const second = await testbed.client.land(await holder.retirement());
    if (first.status !== rpc.Api.GetTransactionStatus.SUCCESS) throw new Error(first.status);
    const startLedger = first.ledger;
    const page = await testbed.client.server.getTransactions({ startLedger, pagination: { limit: 1 } });
    expect(page.transactions.map(({ txHash }) => txHash)).toEqual([first.txHash]);
    const next = await testbed.client.server.getTransactions({ pagination: { cursor: page.cursor } });
    expect(next.transactions.map(({ txHash }) => txHash)).toEqual([second.txHash]);
  });
});
