/**
 * How the node accepts transactions: signatures, sequence numbers, time bounds, fees and resources, compared
 * with stellar-core's behaviour.
 */
import {
  Account,
  Keypair,
  Networks,
  Operation,
  rpc,
  SorobanDataBuilder,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import type { Transaction, xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clockOf, createHolder, dataOf, lumensOf, sequenceOf } from '../../../support/stellar/holder.ts';
import type { Holder } from '../../../support/stellar/holder.ts';
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

describe('a transaction that can land', () => {
  it('waits for a ledger, is known while it waits, and is found once it landed', async () => {
    const transaction = await holder.retirement();
    expect(await holder.send(transaction)).toBe('PENDING');
    expect(await holder.send(transaction)).toBe('DUPLICATE');
    expect(await holder.statusOf(transaction)).toBe('NOT_FOUND');
    const ledger = testbed.devnet.controls.closeLedger();
    const landed = await testbed.client.server.getTransaction(transaction.hash().toString('hex'));
    expect(landed).toMatchObject({
      status: 'SUCCESS',
      ledger: ledger.sequence,
      createdAt: String(ledger.closedAt),
      applicationOrder: 1,
      feeBump: false,
      latestLedger: ledger.sequence,
    });
    expect(await holder.send(transaction)).toBe('txBadSeq');
  });

  it('pays for its resources and gets the rest back, and uses up one sequence number', async () => {
    const [before, sequence] = [await lumensOf(testbed, holder.keys), await sequenceOf(testbed, holder.keys)];
    const transaction = await holder.retirement();
    const landed = await testbed.client.land(transaction);
    if (landed.status !== rpc.Api.GetTransactionStatus.SUCCESS) throw new Error(landed.status);
    const charged = landed.resultXdr.feeCharged().toBigInt();
    expect(await lumensOf(testbed, holder.keys)).toBe(before - charged);
    expect(charged).toBeLessThan(BigInt(transaction.fee));
    expect(charged).toBeGreaterThan(100n);
    expect(await sequenceOf(testbed, holder.keys)).toBe(sequence + 1n);
    expect(landed.resultMetaXdr.switch()).toBe(4);
    expect(landed.events.contractEventsXdr[0]).toHaveLength(2);
  });

  it('can be signed by a channel, with the operation’s own account beside it', async () => {
    const channel = testbed.account();
    const { client, devnet, token } = testbed;
    const source = await client.server.getAccount(channel.publicKey());
    const operation = Operation.invokeContractFunction({
      contract: token,
      function: 'retire',
      args: retireArguments(holder.keys, 1n),
      source: holder.keys.publicKey(),
    });
    const draft = new TransactionBuilder(source, {
      fee: '100',
      networkPassphrase: devnet.passphrase,
      timebounds: { minTime: 0, maxTime: 0 },
    })
      .addOperation(operation)
      .build();
    const simulated = await client.simulate(draft);
    expect(simulated.result?.auth[0]?.credentials().switch().name).toBe('sorobanCredentialsSourceAccount');
    const half = rpc.assembleTransaction(draft, simulated).build();
    half.sign(channel);
    expect(await holder.send(half)).toBe('txFailed');
    half.sign(holder.keys);
    const [before, sequence] = [await lumensOf(testbed, holder.keys), await sequenceOf(testbed, channel)];
    expect((await client.land(half)).status).toBe('SUCCESS');
    expect(await lumensOf(testbed, holder.keys)).toBe(before);
    expect(await sequenceOf(testbed, channel)).toBe(sequence + 1n);
  });

  it('is one of many classic operations as well', async () => {
    const { client, devnet } = testbed;
    const made = [Keypair.random(), Keypair.random()];
    const builder = new TransactionBuilder(await client.server.getAccount(holder.keys.publicKey()), {
      fee: '100',
      networkPassphrase: devnet.passphrase,
      timebounds: { minTime: 0, maxTime: 0 },
    });
    for (const { publicKey } of made.map((pair) => ({ publicKey: pair.publicKey() }))) {
      builder.addOperation(Operation.createAccount({ destination: publicKey, startingBalance: '5' }));
    }
    const transaction = builder.build();
    transaction.sign(holder.keys);
    expect((await client.land(transaction)).status).toBe('SUCCESS');
    for (const pair of made) expect(await lumensOf(testbed, pair)).toBe(50_000_000n);
  });

  it('undoes what its first operations did when a later one fails', async () => {
    const { client, devnet } = testbed;
    const made = Keypair.random().publicKey();
    const builder = new TransactionBuilder(await client.server.getAccount(holder.keys.publicKey()), {
      fee: '100',
      networkPassphrase: devnet.passphrase,
      timebounds: { minTime: 0, maxTime: 0 },
    });
    for (const destination of [made, holder.keys.publicKey()]) {
      builder.addOperation(Operation.createAccount({ destination, startingBalance: '5' }));
    }
    const transaction = builder.build();
    transaction.sign(holder.keys);
    expect((await client.land(transaction)).status).toBe('FAILED');
    await expect(client.server.getAccount(made)).rejects.toThrow('Account not found');
  });
});

describe('a transaction is refused', () => {
  it.each([
    ['signed for another network', () => [holder.keys], Networks.PUBLIC, 'txBadAuth'],
    ['signed by another key', () => [Keypair.random()], undefined, 'txBadAuth'],
    ['without a signature', () => [], undefined, 'txBadAuth'],
    ['signed by one too many', () => [holder.keys, Keypair.random()], undefined, 'txBadAuthExtra'],
  ])('that is %s', async (_, signers, passphrase, code) => {
    const original = await holder.retirement();
    const signed = holder.changed(original, {
      signers: signers(),
      ...(passphrase === undefined ? {} : { passphrase }),
    });
    const sent = TransactionBuilder.fromXDR(signed.toXDR(), testbed.devnet.passphrase);
    expect(await holder.send(sent as Transaction)).toBe(code);
  });

  it('whose sequence number is not the next one', async () => {
    const original = await holder.retirement();
    const next = BigInt(original.sequence);
    for (const sequence of [next - 1n, next + 1n]) {
      expect(await holder.send(holder.changed(original, { sequence }))).toBe('txBadSeq');
    }
  });

  it('too early and too late, by the ledger’s clock', async () => {
    const original = await holder.retirement();
    expect(await holder.send(holder.changed(original, { minTime: clockOf(testbed) + 1, maxTime: 0 }))).toBe(
      'txTooEarly',
    );
    expect(await holder.send(holder.changed(original, { maxTime: clockOf(testbed) - 1 }))).toBe('txTooLate');
    expect(await holder.send(holder.changed(original, { maxTime: clockOf(testbed) }))).toBe('PENDING');
  });

  it('that offers too little, or less than its own resources cost', async () => {
    const original = await holder.retirement();
    const resourceFee = dataOf(original).resourceFee().toBigInt();
    const data = dataOf(original);
    expect(await holder.send(holder.changed(original, { fee: String(resourceFee + 99n) }))).toBe(
      'txInsufficientFee',
    );
    expect(await holder.send(holder.changed(original, { fee: String(resourceFee - 1n) }))).toBe(
      'txSorobanInvalid',
    );
    const cheap = new SorobanDataBuilder(data).setResourceFee(1_000).build();
    expect(await holder.send(holder.changed(original, { data: cheap }))).toBe('txSorobanInvalid');
  });

  it('that has no resources, or more than a ledger takes', async () => {
    const original = await holder.retirement();
    const greedy = new SorobanDataBuilder(dataOf(original)).setResources(200_000_000, 0, 0).build();
    expect(await holder.send(holder.changed(original, { data: greedy }))).toBe('txSorobanInvalid');
    const envelope = original.toEnvelope();
    envelope
      .v1()
      .tx()
      .ext(new (envelope.v1().tx().ext().constructor as typeof xdr.TransactionExt)(0));
    const bare = TransactionBuilder.fromXDR(envelope, testbed.devnet.passphrase) as Transaction;
    expect(await holder.send(bare)).toBe('txMalformed');
  });

  it('of an account that is not there, or that can’t pay', async () => {
    const noAccount = Keypair.random();
    const payment = (source: Keypair, sequence: string, fee: string) => {
      const built = new TransactionBuilder(new Account(source.publicKey(), sequence), {
        fee,
        networkPassphrase: testbed.devnet.passphrase,
        timebounds: { minTime: 0, maxTime: 0 },
      })
        .addOperation(Operation.bumpSequence({ bumpTo: '1' }))
        .build();
      built.sign(source);
      return built;
    };
    expect(await holder.send(payment(noAccount, '1', '100'))).toBe('txNoAccount');
    const poor = Keypair.random();
    testbed.devnet.fund(poor.publicKey(), 10_000_100n);
    const sequence = String(await sequenceOf(testbed, poor));
    expect(await holder.send(payment(poor, sequence, '101'))).toBe('txInsufficientBalance');
    expect(await holder.send(payment(poor, sequence, '100'))).toBe('PENDING');
  });

  it('for now, while another of the same account waits', async () => {
    const first = await holder.retirement();
    expect(await holder.send(first)).toBe('PENDING');
    expect(await holder.send(holder.changed(first, { maxTime: clockOf(testbed) + 7 }))).toBe(
      'TRY_AGAIN_LATER',
    );
    const next = { sequence: BigInt(first.sequence) + 1n };
    expect(await holder.send(holder.changed(first, next))).toBe('TRY_AGAIN_LATER');
    expect(await holder.send(holder.changed(first, { sequence: BigInt(first.sequence) - 1n }))).toBe(
      'txBadSeq',
    );
    testbed.devnet.controls.closeLedger();
    expect(await holder.statusOf(first)).toBe('SUCCESS');
  });

  it('when it is no transaction at all', async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'sendTransaction',
      params: { transaction: 'AAAA' },
    });
    const answer = (await (await fetch(testbed.devnet.url, { method: 'POST', body })).json()) as {
      error: unknown;
    };
    expect(answer.error).toEqual({ code: -32_602, message: 'invalid_xdr' });
  });
});
