/**
 * How the simulated node takes transactions, and how the network lands them: signatures, sequence numbers, time
 * bounds, fees and fee bumps, held to what stellar-core does.
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
import type { FeeBumpTransaction, Transaction, xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { address, i128 } from './soroban/values.ts';
import { retireArguments, setStage } from './stage.ts';
import type { Stage } from './stage.ts';

let stage: Stage;
let keys: Keypair;

beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.simulator.close());
beforeEach(async () => {
  const { client, custody, token } = stage;
  stage.simulator.controls.setInclusionPrice(100);
  keys = stage.account();
  await client.call(custody, token, 'transfer', [
    address(custody.publicKey()),
    address(keys.publicKey()),
    i128(10n),
  ]);
});

/** Ready to be sent: one unit of the account's tokens retired. */
function retirement(): Promise<Transaction> {
  return stage.client.prepare(keys, stage.token, 'retire', retireArguments(keys, 1n));
}

/** The same call with something about it changed, signed again by `signers`. */
function changed(
  original: Transaction,
  change: {
    fee?: string;
    sequence?: bigint;
    minTime?: number;
    maxTime?: number;
    data?: xdr.SorobanTransactionData;
  },
  signers: Keypair[] = [keys],
  networkPassphrase = stage.simulator.passphrase,
): Transaction {
  const sequence = change.sequence ?? BigInt(original.sequence);
  const [operation] = original.toEnvelope().v1().tx().operations();
  if (!operation) throw new Error('The original has no operation');
  const built = new TransactionBuilder(new Account(original.source, String(sequence - 1n)), {
    fee: change.fee ?? original.fee,
    networkPassphrase,
    timebounds: {
      minTime: change.minTime ?? 0,
      maxTime: change.maxTime ?? Number(original.timeBounds?.maxTime),
    },
    sorobanData: change.data ?? dataOf(original),
  })
    .addOperation(operation)
    .build();
  // The builder adds the resource fee to the fee: here the fee is meant to be the whole one.
  const envelope = built.toEnvelope();
  envelope
    .v1()
    .tx()
    .fee(Number(change.fee ?? original.fee));
  const exact = TransactionBuilder.fromXDR(envelope, networkPassphrase) as Transaction;
  exact.sign(...signers);
  return exact;
}

function dataOf(transaction: Transaction): xdr.SorobanTransactionData {
  return transaction.toEnvelope().v1().tx().ext().sorobanData();
}

async function send(transaction: Transaction | FeeBumpTransaction): Promise<string> {
  const answer = await stage.client.server.sendTransaction(transaction);
  return answer.status === 'ERROR' ? String(answer.errorResult?.result().switch().name) : answer.status;
}

const statusOf = async (transaction: Transaction | FeeBumpTransaction) =>
  (await stage.client.server.getTransaction(transaction.hash().toString('hex'))).status;

const clock = () => Number(stage.simulator.controls.chain.history.latest().closedAt);
const closeLedger = () => stage.simulator.controls.closeLedger();

async function sequenceOf(owner: Keypair): Promise<bigint> {
  return BigInt((await stage.client.server.getAccount(owner.publicKey())).sequenceNumber());
}

async function lumensOf(owner: Keypair): Promise<bigint> {
  return (await stage.client.server.getAccountEntry(owner.publicKey())).balance().toBigInt();
}

function bump(inner: Transaction, feePerOperation: number, payer: Keypair): FeeBumpTransaction {
  const built = TransactionBuilder.buildFeeBumpTransaction(
    payer,
    String(feePerOperation),
    inner,
    stage.simulator.passphrase,
  );
  built.sign(payer);
  return built;
}

/** The inclusion fee that a fee bump offers, of which core compares rates per operation. */
function inclusionOf(bumped: FeeBumpTransaction): bigint {
  return BigInt(bumped.fee) - dataOf(bumped.innerTransaction).resourceFee().toBigInt();
}

describe('a transaction that can land', () => {
  it('waits for a ledger, is known while it waits, and is found once it landed', async () => {
    const transaction = await retirement();
    expect(await send(transaction)).toBe('PENDING');
    expect(await send(transaction)).toBe('DUPLICATE');
    expect(await statusOf(transaction)).toBe('NOT_FOUND');
    const ledger = closeLedger();
    const landed = await stage.client.server.getTransaction(transaction.hash().toString('hex'));
    expect(landed).toMatchObject({
      status: 'SUCCESS',
      ledger: ledger.sequence,
      createdAt: String(ledger.closedAt),
      applicationOrder: 1,
      feeBump: false,
      latestLedger: ledger.sequence,
    });
    expect(await send(transaction)).toBe('txBadSeq');
  });

  it('pays for its resources and gets the rest back, and uses up one sequence number', async () => {
    const [before, sequence] = [await lumensOf(keys), await sequenceOf(keys)];
    const transaction = await retirement();
    const landed = await stage.client.land(transaction);
    if (landed.status !== rpc.Api.GetTransactionStatus.SUCCESS) throw new Error(landed.status);
    const charged = landed.resultXdr.feeCharged().toBigInt();
    expect(await lumensOf(keys)).toBe(before - charged);
    expect(charged).toBeLessThan(BigInt(transaction.fee));
    expect(charged).toBeGreaterThan(100n);
    expect(await sequenceOf(keys)).toBe(sequence + 1n);
    expect(landed.resultMetaXdr.switch()).toBe(4);
    expect(landed.events.contractEventsXdr[0]).toHaveLength(2);
  });

  it('can be signed by a channel, with the operation’s own account beside it', async () => {
    const channel = stage.account();
    const { client, simulator, token } = stage;
    const source = await client.server.getAccount(channel.publicKey());
    const operation = Operation.invokeContractFunction({
      contract: token,
      function: 'retire',
      args: retireArguments(keys, 1n),
      source: keys.publicKey(),
    });
    const draft = new TransactionBuilder(source, {
      fee: '100',
      networkPassphrase: simulator.passphrase,
      timebounds: { minTime: 0, maxTime: 0 },
    })
      .addOperation(operation)
      .build();
    const simulated = await client.simulate(draft);
    expect(simulated.result?.auth[0]?.credentials().switch().name).toBe('sorobanCredentialsSourceAccount');
    const half = rpc.assembleTransaction(draft, simulated).build();
    half.sign(channel);
    expect(await send(half)).toBe('txFailed');
    half.sign(keys);
    const [before, sequence] = [await lumensOf(keys), await sequenceOf(channel)];
    expect((await client.land(half)).status).toBe('SUCCESS');
    expect(await lumensOf(keys)).toBe(before);
    expect(await sequenceOf(channel)).toBe(sequence + 1n);
  });

  it('is one of many classic operations as well', async () => {
    const { client, simulator } = stage;
    const made = [Keypair.random(), Keypair.random()];
    const builder = new TransactionBuilder(await client.server.getAccount(keys.publicKey()), {
      fee: '100',
      networkPassphrase: simulator.passphrase,
      timebounds: { minTime: 0, maxTime: 0 },
    });
    for (const { publicKey } of made.map((pair) => ({ publicKey: pair.publicKey() }))) {
      builder.addOperation(Operation.createAccount({ destination: publicKey, startingBalance: '5' }));
    }
    const transaction = builder.build();
    transaction.sign(keys);
    expect((await client.land(transaction)).status).toBe('SUCCESS');
    for (const pair of made) expect(await lumensOf(pair)).toBe(50_000_000n);
  });
});

describe('a transaction is refused', () => {
  it.each([
    ['signed for another network', () => [keys], Networks.PUBLIC, 'txBadAuth'],
    ['signed by another key', () => [Keypair.random()], undefined, 'txBadAuth'],
    ['signed by nobody', () => [], undefined, 'txBadAuth'],
    ['signed by one too many', () => [keys, Keypair.random()], undefined, 'txBadAuthExtra'],
  ])('that is %s', async (_, signers, passphrase, code) => {
    const original = await retirement();
    const signed = changed(original, {}, signers(), passphrase);
    const sent = TransactionBuilder.fromXDR(signed.toXDR(), stage.simulator.passphrase);
    expect(await send(sent as Transaction)).toBe(code);
  });

  it('whose sequence number is not the next one', async () => {
    const original = await retirement();
    const next = BigInt(original.sequence);
    for (const sequence of [next - 1n, next + 1n]) {
      expect(await send(changed(original, { sequence }))).toBe('txBadSeq');
    }
  });

  it('too early and too late, by the ledger’s clock', async () => {
    const original = await retirement();
    expect(await send(changed(original, { minTime: clock() + 1, maxTime: 0 }))).toBe('txTooEarly');
    expect(await send(changed(original, { maxTime: clock() - 1 }))).toBe('txTooLate');
    expect(await send(changed(original, { maxTime: clock() }))).toBe('PENDING');
  });

  it('that offers too little, or less than its own resources cost', async () => {
    const original = await retirement();
    const resourceFee = dataOf(original).resourceFee().toBigInt();
    const data = dataOf(original);
    expect(await send(changed(original, { fee: String(resourceFee + 99n) }))).toBe('txInsufficientFee');
    expect(await send(changed(original, { fee: String(resourceFee - 1n) }))).toBe('txSorobanInvalid');
    const cheap = new SorobanDataBuilder(data).setResourceFee(1_000).build();
    expect(await send(changed(original, { data: cheap }))).toBe('txSorobanInvalid');
  });

  it('that has no resources, or more than a ledger takes', async () => {
    const original = await retirement();
    const greedy = new SorobanDataBuilder(dataOf(original)).setResources(200_000_000, 0, 0).build();
    expect(await send(changed(original, { data: greedy }))).toBe('txSorobanInvalid');
    const envelope = original.toEnvelope();
    envelope
      .v1()
      .tx()
      .ext(new (envelope.v1().tx().ext().constructor as typeof xdr.TransactionExt)(0));
    const bare = TransactionBuilder.fromXDR(envelope, stage.simulator.passphrase) as Transaction;
    expect(await send(bare)).toBe('txMalformed');
  });

  it('of an account that is not there, or that can’t pay', async () => {
    const nobody = Keypair.random();
    const payment = (source: Keypair, sequence: string, fee: string) => {
      const built = new TransactionBuilder(new Account(source.publicKey(), sequence), {
        fee,
        networkPassphrase: stage.simulator.passphrase,
        timebounds: { minTime: 0, maxTime: 0 },
      })
        .addOperation(Operation.bumpSequence({ bumpTo: '1' }))
        .build();
      built.sign(source);
      return built;
    };
    expect(await send(payment(nobody, '1', '100'))).toBe('txNoAccount');
    const poor = Keypair.random();
    stage.simulator.fund(poor.publicKey(), 10_000_100n);
    const sequence = String(await sequenceOf(poor));
    expect(await send(payment(poor, sequence, '101'))).toBe('txInsufficientBalance');
    expect(await send(payment(poor, sequence, '100'))).toBe('PENDING');
  });

  it('for now, while another of the same account waits', async () => {
    const first = await retirement();
    expect(await send(first)).toBe('PENDING');
    expect(await send(changed(first, { maxTime: clock() + 7 }))).toBe('TRY_AGAIN_LATER');
    const next = { sequence: BigInt(first.sequence) + 1n };
    expect(await send(changed(first, next))).toBe('TRY_AGAIN_LATER');
    expect(await send(changed(first, { sequence: BigInt(first.sequence) - 1n }))).toBe('txBadSeq');
    closeLedger();
    expect(await statusOf(first)).toBe('SUCCESS');
  });

  it('when it is no transaction at all', async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'sendTransaction',
      params: { transaction: 'AAAA' },
    });
    const answer = (await (await fetch(stage.simulator.url, { method: 'POST', body })).json()) as {
      error: unknown;
    };
    expect(answer.error).toEqual({ code: -32_602, message: 'invalid_xdr' });
  });
});

describe('a ledger', () => {
  it('leaves out what is too late by its clock, for good', async () => {
    const late = changed(await retirement(), { maxTime: clock() + 4 });
    expect(await send(late)).toBe('PENDING');
    closeLedger();
    expect(await statusOf(late)).toBe('NOT_FOUND');
    expect(await send(late)).toBe('TRY_AGAIN_LATER');
    stage.simulator.controls.skipLedgers(11);
    expect(await send(late)).toBe('txTooLate');
  });

  it('leaves out what pays too little for it, and drops it after four', async () => {
    stage.simulator.controls.setInclusionPrice(5_000);
    const cheap = await retirement();
    expect(await send(cheap)).toBe('PENDING');
    for (const _ of [1, 2, 3, 4]) closeLedger();
    expect(stage.simulator.controls.waitingCount()).toBe(0);
    expect(await send(cheap)).toBe('TRY_AGAIN_LATER');
    stage.simulator.controls.skipLedgers(11);
    stage.simulator.controls.setInclusionPrice(100);
    expect(await send(cheap)).toBe('PENDING');
    closeLedger();
    expect(await statusOf(cheap)).toBe('SUCCESS');
  });

  it('tells by its fee statistics what was paid', async () => {
    const price = 5_000;
    stage.simulator.controls.setInclusionPrice(price);
    const original = await retirement();
    const dear = changed(original, { fee: String(BigInt(original.fee) + BigInt(price)) });
    expect(await send(dear)).toBe('PENDING');
    closeLedger();
    const { sorobanInclusionFee } = await stage.client.server.getFeeStats();
    expect(Number(sorobanInclusionFee.max)).toBeGreaterThanOrEqual(price);
  });

  it('lands a call that fails, at the price of fee and sequence number', async () => {
    const { client, token } = stage;
    const first = await client.prepare(keys, token, 'retire', retireArguments(keys, 10n));
    // In the meantime the tokens go elsewhere.
    const other = stage.account();
    const { custody } = stage;
    await client.call(keys, token, 'transfer', [
      address(keys.publicKey()),
      address(custody.publicKey()),
      i128(5n),
    ]);
    const late = changed(first, { sequence: BigInt(first.sequence) + 1n });
    const [before, sequence] = [await lumensOf(keys), await sequenceOf(keys)];
    const landed = await client.land(late);
    if (landed.status !== rpc.Api.GetTransactionStatus.FAILED) throw new Error(landed.status);
    const [result] = landed.resultXdr.result().results();
    expect(result?.tr().invokeHostFunctionResult().switch().name).toBe('invokeHostFunctionTrapped');
    const errors = (landed.diagnosticEventsXdr ?? [])
      .map((event) => event.event().body().v0().topics()[1])
      .filter((topic) => topic?.switch().name === 'scvError')
      .map((topic) => topic?.error().contractCode());
    expect(errors[0]).toBe(2);
    expect(await lumensOf(keys)).toBeLessThan(before);
    expect(await sequenceOf(keys)).toBe(sequence + 1n);
    expect(await client.read(token, 'balance', [address(other.publicKey())])).toBe(0n);
    expect(await client.read(token, 'balance', [address(keys.publicKey())])).toBe(5n);
  });
});

describe('a fee bump', () => {
  it('takes the place of what waits at ten times its fee, and is found by either hash', async () => {
    stage.simulator.controls.setInclusionPrice(1_000);
    const payer = stage.account();
    const inner = await retirement();
    expect(await send(inner)).toBe('PENDING');
    closeLedger();
    expect(await statusOf(inner)).toBe('NOT_FOUND');
    const tooLittle = bump(inner, 999, payer);
    expect(inclusionOf(tooLittle)).toBeLessThan(2_000n);
    expect(await send(tooLittle)).toBe('txInsufficientFee');
    const enough = bump(inner, 1_000, payer);
    expect(await send(enough)).toBe('PENDING');
    expect(await send(inner)).toBe('DUPLICATE');
    expect(await send(enough)).toBe('DUPLICATE');
    const before = await lumensOf(keys);
    closeLedger();
    expect(await statusOf(enough)).toBe('SUCCESS');
    const byInner = await stage.client.server.getTransaction(inner.hash().toString('hex'));
    expect(byInner).toMatchObject({ status: 'SUCCESS', feeBump: true });
    expect(await lumensOf(keys)).toBe(before);
    expect(await lumensOf(payer)).toBeLessThan(100_000_000_000n);
  });

  it('says how much would have been enough', async () => {
    const inner = await retirement();
    expect(await send(inner)).toBe('PENDING');
    const answer = await stage.client.server.sendTransaction(bump(inner, 500, keys));
    expect(answer.errorResult?.result().switch().name).toBe('txInsufficientFee');
    expect(answer.errorResult?.feeCharged().toBigInt()).toBe(2_000n);
    closeLedger();
  });

  it('is refused for what is wrong with the transaction inside, and for its own signature', async () => {
    const original = await retirement();
    const stale = changed(original, { maxTime: clock() - 1 });
    expect(await send(bump(stale, 1_000, keys))).toBe('txFeeBumpInnerFailed');
    const unsigned = TransactionBuilder.buildFeeBumpTransaction(
      keys,
      '1000',
      original,
      stage.simulator.passphrase,
    );
    expect(await send(unsigned)).toBe('txBadAuth');
  });
});

describe('history', () => {
  it('forgets what is older than its window', async () => {
    const small = await setStage({ retentionLedgers: 20 });
    try {
      const { client, custody, token, simulator } = small;
      const landed = await client.land(
        await client.prepare(custody, token, 'retire', retireArguments(custody, 1n)),
      );
      const hash = landed.txHash;
      expect((await client.server.getTransaction(hash)).status).toBe('SUCCESS');
      simulator.controls.skipLedgers(19);
      expect((await client.server.getTransaction(hash)).status).toBe('SUCCESS');
      const { sequence } = simulator.controls.closeLedger();
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
      await small.simulator.close();
    }
  });

  it('lists transactions by ledger, page by page', async () => {
    const first = await stage.client.land(await retirement());
    const second = await stage.client.land(await retirement());
    if (first.status !== rpc.Api.GetTransactionStatus.SUCCESS) throw new Error(first.status);
    const startLedger = first.ledger;
    const page = await stage.client.server.getTransactions({ startLedger, pagination: { limit: 1 } });
    expect(page.transactions.map(({ txHash }) => txHash)).toEqual([first.txHash]);
    const next = await stage.client.server.getTransactions({ pagination: { cursor: page.cursor } });
    expect(next.transactions.map(({ txHash }) => txHash)).toEqual([second.txHash]);
  });
});
