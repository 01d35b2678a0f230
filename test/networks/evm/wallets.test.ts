/**
 * Holders of EVM tokens who have their own wallet: what they get to sign, and which answers are accepted.
 */
import {
  fromRlp,
  hexToBytes,
  keccak256,
  numberToHex,
  parseTransaction,
  serializeTransaction,
  toRlp,
} from 'viem';
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import type { EvmCallPayload } from '../../../src/ledger/network/evm/wallets.ts';
import type { HolderCall, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import {
  TONNE,
  deploy,
  deployReceipt,
  land,
  mintedCarbon,
  refusalOf,
  settled,
} from '../../../devnet/calls.ts';
import { startEvmTestbed } from '../../support/evm/testbed.ts';
import type { EvmTestbed } from '../../support/evm/testbed.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let testbed: EvmTestbed;
let network: EvmNetwork;
let token: string;
let retirement: Extract<HolderCall, { kind: 'retire' }>;

beforeAll(async () => {
  testbed = await startEvmTestbed();
  network = await testbed.open();
  token = await mintedCarbon(network, 10n);
  const { address } = testbed.stranger;
  await land(network, { kind: 'mint', tokenAddress: token, to: address, amount: 100n * TONNE });
  retirement = { kind: 'retire', tokenAddress: token, amount: TONNE, beneficiary: 'Øyvind', note: 'own key' };
});
afterAll(() => testbed.close());

const wallet = () => privateKeyToAccount(testbed.stranger.secretKey);

/** Builds the transaction as a wallet reads the payload. */
async function toSign(call: HolderCall) {
  const unsigned = await network.prepareForHolder(call, testbed.stranger.address);
  const payload = JSON.parse(unsigned.payload) as EvmCallPayload;
  const transaction = {
    type: 'eip1559',
    chainId: Number(payload.chainId),
    to: payload.to,
    data: payload.data,
    value: BigInt(payload.value),
    nonce: Number(payload.nonce),
    gas: BigInt(payload.gas),
    maxFeePerGas: BigInt(payload.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(payload.maxPriorityFeePerGas),
  } as const;
  return { unsigned, payload, transaction };
}

async function sendAndSee(prepared: PreparedTransaction) {
  expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  return settled(network, prepared);
}

describe('a holder’s own act', () => {
  it('is prepared in the fields that wallets take, signed, opened and landed', async () => {
    const { unsigned, payload, transaction } = await toSign(retirement);
    expect(unsigned).toMatchObject({
      format: 'evm-call',
      holder: testbed.stranger.address,
      validUntil: null,
    });
    expect(payload).toMatchObject({
      chainId: '0x7a69',
      from: testbed.stranger.address,
      to: token,
      value: '0x0',
    });
    const signed = await wallet().signTransaction(transaction);
    const prepared = await network.openSigned(retirement, unsigned, signed);
    expect(prepared).toMatchObject({
      hash: keccak256(signed),
      source: testbed.stranger.address,
      sequence: BigInt(transaction.nonce),
      validUntil: null,
    });
    expect(await sendAndSee(prepared)).toMatchObject({ status: 'succeeded', result: { kind: 'retired' } });
    const { totals, records } = await network.retirementRecords(token, 0, 10);
    expect(records.at(-1)).toMatchObject({ retiredBy: testbed.stranger.address, note: 'own key' });
    expect(totals.totalRetired).toBe(TONNE);
    expect(await network.balanceOf(token, network.custodyAddress)).toBe(10n * TONNE);
  });

  it('takes the wallet’s own nonce, gas and fees, and older kinds of transaction', async () => {
    const { unsigned, transaction } = await toSign(retirement);
    const { type: _, maxFeePerGas, maxPriorityFeePerGas: __, ...rest } = transaction;
    const signed = await wallet().signTransaction({
      ...rest,
      type: 'legacy',
      gas: rest.gas + 5n,
      gasPrice: maxFeePerGas + 1n,
    });
    const pasted = ` ${signed.toUpperCase().replace('0X', '0x')}\n`;
    const prepared = await network.openSigned(retirement, unsigned, pasted);
    expect(prepared.hash).toBe(keccak256(signed));
    expect(await sendAndSee(prepared)).toMatchObject({ status: 'succeeded' });
    const ahead = await wallet().signTransaction({ ...transaction, nonce: transaction.nonce + 3 });
    const waiting = await network.openSigned(retirement, unsigned, ahead);
    expect(waiting.sequence).toBe(BigInt(transaction.nonce) + 3n);
  });

  it('is taken also when the wallet sent it by itself', async () => {
    const { unsigned, transaction } = await toSign(retirement);
    const signed = await wallet().signTransaction(transaction);
    await testbed.anvil.rpc('eth_sendRawTransaction', [signed]);
    await expect
      .poll(() => testbed.anvil.rpc('eth_getTransactionReceipt', [keccak256(signed)]))
      .not.toBeNull();
    const prepared = await network.openSigned(retirement, unsigned, signed);
    expect(await sendAndSee(prepared)).toMatchObject({ status: 'succeeded' });
  });

  it('sets the allowance and deposits without custody, which can give it back', async () => {
    const receipt = await deploy(network, deployReceipt(4_000_000_000n));
    const { address } = testbed.stranger;
    await land(network, { kind: 'mint', tokenAddress: receipt, to: address, amount: 500n });
    const sessionId = randomUUID();
    const deposit = { kind: 'depositOffRamp', sessionId, tokenAddress: receipt, amount: 500n } as const;
    expect(await network.checkDeposit(deposit, address)).toBeUndefined();
    const tooEarly = await refusalOf(network.prepareForHolder(deposit, address));
    expect(tooEarly.reason).toBe('INSUFFICIENT_ALLOWANCE');
    for (const call of [{ kind: 'setAllowance', tokenAddress: receipt, amount: 500n } as const, deposit]) {
      const { unsigned, transaction } = await toSign(call);
      const signed = await wallet().signTransaction(transaction);
      expect(await sendAndSee(await network.openSigned(call, unsigned, signed))).toMatchObject({
        status: 'succeeded',
      });
    }
    expect(await depositInUse(network, sessionId)).toMatchObject({ depositor: address, amount: 500n });
    await land(network, { kind: 'refundOffRamp', sessionId });
    expect(await network.balanceOf(receipt, address)).toBe(500n);
  });

  it('is not prepared when it would be refused', async () => {
    const { address } = testbed.stranger;
    const tooMuch: HolderCall = { ...retirement, amount: 1_000n * TONNE };
    const tooMuchRefused = await refusalOf(network.prepareForHolder(tooMuch, address));
    expect(tooMuchRefused.reason).toBe('INSUFFICIENT_BALANCE');
    expect((await refusalOf(network.prepareForHolder(retirement, 'no-address'))).reason).toBe('OTHER');
  });
});

describe('what a wallet gives back', () => {
  async function refused(signed: string): Promise<string> {
    const { unsigned } = await toSign(retirement);
    const refused = await refusalOf(network.openSigned(retirement, unsigned, signed));
    expect(refused.reason).toBe('NOT_AS_PREPARED');
    return refused.message;
  }

  it('must be that act, and nothing else', async () => {
    const { transaction } = await toSign(retirement);
    const more = await toSign({ ...retirement, amount: 2n * TONNE });
    const noted = await toSign({ ...retirement, note: 'another' });
    const sign = (changes: Record<string, unknown>) =>
      wallet().signTransaction({ ...transaction, ...changes });
    expect(await refused(await sign({ to: testbed.contracts.factoryAddress }))).toContain('goes to');
    expect(await refused(await sign({ to: undefined }))).toContain('no contract');
    expect(await refused(await sign({ data: more.transaction.data }))).toContain('data');
    expect(await refused(await sign({ data: noted.transaction.data }))).toContain('data');
    expect(await refused(await sign({ data: `${transaction.data}00` }))).toContain('data');
    expect(await refused(await sign({ value: 1n }))).toContain('1 wei');
    expect(await refused(await sign({ chainId: 1 }))).toContain('chain 1');
    const accessList = [{ address: testbed.contracts.factoryAddress, storageKeys: [] }];
    expect(await refused(await sign({ accessList }))).toContain('access list');
  });

  it('must bring no code for the holder’s account, and no chain-less signature', async () => {
    const { transaction } = await toSign(retirement);
    const authorization = await wallet().signAuthorization({
      contractAddress: testbed.contracts.factoryAddress,
      chainId: transaction.chainId,
      nonce: transaction.nonce + 1,
    });
    const delegating = await wallet().signTransaction({
      ...transaction,
      type: 'eip7702',
      authorizationList: [authorization],
    });
    expect(await refused(delegating)).toContain('eip7702');
    const { type: _, maxFeePerGas, maxPriorityFeePerGas: __, chainId: ___, ...rest } = transaction;
    const anywhere = await wallet().signTransaction({ ...rest, type: 'legacy', gasPrice: maxFeePerGas });
    expect(await refused(anywhere)).toContain('chain none');
  });

  it('must have a nonce with which it can land', async () => {
    const { transaction } = await toSign(retirement);
    const used = await wallet().signTransaction({ ...transaction, nonce: transaction.nonce - 1 });
    expect(await refused(used)).toContain('used before');
    const far = await wallet().signTransaction({ ...transaction, nonce: transaction.nonce + 1_000 });
    expect(await refused(far)).toContain('too far ahead');
  });

  it('must not be one that landed before this one was prepared, though it says the same', async () => {
    const before = await toSign(retirement);
    const signed = await wallet().signTransaction(before.transaction);
    await testbed.anvil.rpc('eth_sendRawTransaction', [signed]);
    await expect
      .poll(() => testbed.anvil.rpc('eth_getTransactionReceipt', [keccak256(signed)]))
      .not.toBeNull();
    expect(await refused(signed)).toContain('was used before that was prepared');
    // The act that was prepared before still accepts it.
    expect(await network.openSigned(retirement, before.unsigned, signed)).toMatchObject({
      hash: keccak256(signed),
    });
  });

  it('must be the holder’s signature, in the form that networks take', async () => {
    const { transaction } = await toSign(retirement);
    const stolen = await privateKeyToAccount(testbed.custody.secretKey).signTransaction(transaction);
    expect(await refused(stolen)).toContain('is signed by');
    expect(await refused(serializeTransaction(transaction))).toContain('not signed');
    const signed = await wallet().signTransaction(transaction);
    const { r, s, yParity } = parseTransaction(signed);
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const mirrored = serializeTransaction(transaction, {
      r: r ?? '0x',
      s: numberToHex(order - BigInt(s ?? '0x'), { size: 32 }),
      yParity: yParity === 1 ? 0 : 1,
    });
    expect(await refused(mirrored)).toContain('high s');
  });

  it('must be in the one encoding that networks take, which has the hash', async () => {
    const { transaction } = await toSign(retirement);
    const fields = fromRlp(`0x${(await wallet().signTransaction(transaction)).slice(4)}`, 'hex') as Hex[];
    const GAS = 4;
    const padded = fields.map((field, at): Hex => (at === GAS ? `0x00${field.slice(2)}` : field));
    expect(await refused(`0x02${toRlp(padded).slice(2)}`)).toContain('canonical');
  });

  it('must be a transaction at all', async () => {
    const { transaction } = await toSign(retirement);
    const signed = await wallet().signTransaction(transaction);
    const texts = [
      '',
      'signed',
      '0x',
      '0x00',
      '0x02c0',
      signed.slice(2),
      `${signed}00`,
      signed.slice(0, 100),
    ];
    for (const text of [...texts, `0x${'ff'.repeat(200_000)}`, '[]', '{}']) await refused(text);
    // A change of any byte is refused.
    const bytes = hexToBytes(signed);
    for (let at = 0; at < bytes.length; at += 3) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 4;
      const text: Hex = `0x${Buffer.from(changed).toString('hex')}`;
      await refused(text);
    }
  });
});
