/**
 * The node's faults: each does what its name says, and no more.
 */
import { rpc } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { instanceKey } from '../../../../src/ledger/network/stellar/addresses.ts';
import { address } from '../../../support/stellar/values.ts';
import { retireArguments, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';

let testbed: SorobanTestbed;
beforeEach(async () => {
  testbed = await startSorobanTestbed();
});
afterEach(() => testbed.devnet.close());

const faults = () => testbed.devnet.controls.faults;
const retirement = () =>
  testbed.client.prepare(testbed.custody, testbed.token, 'retire', retireArguments(testbed.custody, 1n));
const send = (transaction: Transaction) => testbed.client.server.sendTransaction(transaction);
const lookUp = (transaction: Transaction) =>
  testbed.client.server.getTransaction(transaction.hash().toString('hex'));
const closeLedger = () => testbed.devnet.controls.closeLedger();

it('says TRY_AGAIN_LATER so often, without taking anything', async () => {
  faults().tryAgainLater = 2;
  const transaction = await retirement();
  expect((await send(transaction)).status).toBe('TRY_AGAIN_LATER');
  expect((await send(transaction)).status).toBe('TRY_AGAIN_LATER');
  expect(testbed.devnet.controls.waiting().length).toBe(0);
  expect((await send(transaction)).status).toBe('PENDING');
});

it('says DUPLICATE of what it takes for the first time', async () => {
  faults().sayDuplicate = 1;
  const transaction = await retirement();
  expect((await send(transaction)).status).toBe('DUPLICATE');
  closeLedger();
  expect((await lookUp(transaction)).status).toBe('SUCCESS');
});

it('says that a right sequence number is wrong', async () => {
  faults().sayBadSequence = 1;
  const transaction = await retirement();
  const answer = await send(transaction);
  expect(answer.errorResult?.result().switch().name).toBe('txBadSeq');
  expect((await send(transaction)).status).toBe('PENDING');
});

it('takes a transaction and loses the answer', async () => {
  faults().loseSendAnswers = 1;
  const transaction = await retirement();
  await expect(send(transaction)).rejects.toThrow();
  closeLedger();
  expect((await lookUp(transaction)).status).toBe('SUCCESS');
});

it.each(['reset', 'status-503', 'truncated'] as const)('is not to be reached: %s', async (how) => {
  faults().unreachable = how;
  await expect(testbed.client.server.getHealth()).rejects.toThrow();
  faults().unreachable = null;
  expect(await testbed.client.server.getHealth()).toMatchObject({ status: 'healthy' });
});

it('never answers', async () => {
  faults().unreachable = 'silent';
  const signal = AbortSignal.timeout(100);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getHealth' });
  await expect(fetch(testbed.devnet.url, { method: 'POST', body, signal })).rejects.toThrow('timeout');
});

it('takes its time', async () => {
  faults().delayMs = 200;
  const ask = (signal: AbortSignal) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getHealth' });
    return fetch(testbed.devnet.url, { method: 'POST', body, signal });
  };
  await expect(ask(AbortSignal.timeout(50))).rejects.toThrow('timeout');
  expect((await ask(AbortSignal.timeout(10_000))).status).toBe(200);
});

it('answers from some ledgers ago, but passes on what it is sent', async () => {
  const { client, devnet, custody, token } = testbed;
  const balance = () => client.read(token, 'balance', [address(custody.publicKey())]);
  const before = await balance();
  const { latestLedger: known } = await client.server.getHealth();
  const transaction = await retirement();
  faults().lagLedgers = 2;
  await send(transaction);
  closeLedger();
  closeLedger();
  expect((await client.server.getHealth()).latestLedger).toBe(known);
  expect((await client.server.getLatestLedger()).sequence).toBe(known);
  expect(await lookUp(transaction)).toMatchObject({ status: 'NOT_FOUND', latestLedger: known });
  expect(await balance()).toBe(before);
  const lagging = await client.server.getLedgerEntries(instanceKey(token));
  faults().lagLedgers = 0;
  const current = await client.server.getLedgerEntries(instanceKey(token));
  expect(lagging.entries[0]?.val.toXDR('hex')).not.toBe(current.entries[0]?.val.toXDR('hex'));
  expect((await lookUp(transaction)).status).toBe('SUCCESS');
  expect(await balance()).toBe((before as bigint) - 1n);
  expect(devnet.controls.waiting().length).toBe(0);
});

it('denies a transaction that landed', async () => {
  const transaction = await retirement();
  await send(transaction);
  closeLedger();
  faults().denyTransactions = 1;
  expect((await lookUp(transaction)).status).toBe('NOT_FOUND');
  expect((await lookUp(transaction)).status).toBe('SUCCESS');
});

it('loses a waiting transaction, which can be sent again', async () => {
  const transaction = await retirement();
  await send(transaction);
  expect(testbed.devnet.controls.dropWaiting(transaction.hash().toString('hex'))).toBe(true);
  closeLedger();
  expect((await lookUp(transaction)).status).toBe('NOT_FOUND');
  expect((await send(transaction)).status).toBe('PENDING');
});

it('keeps its diagnostics to itself, so that a landed refusal has no number', async () => {
  const silent = await startSorobanTestbed({ diagnostics: false });
  try {
    const { client, custody, token } = silent;
    const channel = silent.account();
    const late = await client.prepare(channel, token, 'retire', retireArguments(custody, 1n), [custody]);
    await client.call(custody, token, 'pause', []);
    const landed = await client.land(late);
    if (landed.status !== rpc.Api.GetTransactionStatus.FAILED) throw new Error(landed.status);
    expect(landed.diagnosticEventsXdr).toBeUndefined();
    expect(landed.resultXdr.result().switch().name).toBe('txFailed');
  } finally {
    await silent.devnet.close();
  }
});

it('closes ledgers by itself, unless it is held', async () => {
  const running = await startSorobanTestbed({ closeEveryMs: 5 });
  try {
    const { controls } = running.devnet;
    const sequence = () => controls.latest().sequence;
    const first = sequence();
    await expect.poll(sequence, { interval: 5 }).toBeGreaterThan(first + 2);
    controls.hold();
    const held = sequence();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sequence()).toBe(held);
    controls.release();
    await expect.poll(sequence, { interval: 5 }).toBeGreaterThan(held);
  } finally {
    await running.devnet.close();
  }
});
