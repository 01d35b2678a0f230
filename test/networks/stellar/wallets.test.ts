/**
 * Holders who have their own wallet on Stellar: they get an unsigned envelope for one act, and only that is
 * accepted back.
 */
import { Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Address, HolderCall, UnsignedTransaction } from '../../../src/ledger/network/port.ts';
import {
  deploy,
  deployReceipt,
  land,
  mintedCarbon,
  refusalOf,
  settled,
  TONNE,
} from '../../../devnet/calls.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let testbed: StellarTestbed;
const holder = Keypair.random();
let tokenAddress: Address;
let retireOne: Extract<HolderCall, { kind: 'retire' }>;

beforeAll(async () => {
  testbed = await startStellarTestbed({ channels: 1 });
  testbed.devnet.fund(holder.publicKey());
  tokenAddress = await mintedCarbon(testbed.network, 1n);
  const minted = { kind: 'mint', tokenAddress, to: holder.publicKey(), amount: 100n * TONNE } as const;
  await land(testbed.network, minted);
  retireOne = { kind: 'retire', tokenAddress, amount: TONNE, beneficiary: 'Wallet Ltd', note: 'own key' };
});
afterAll(() => testbed.close());

const prepareIt = (call: HolderCall = retireOne, address = holder.publicKey()) =>
  testbed.network.prepareForHolder(call, address);

function parse(payload: string): Transaction {
  return TransactionBuilder.fromXDR(payload, testbed.devnet.passphrase) as Transaction;
}

function sign(unsigned: UnsignedTransaction, ...keys: Keypair[]): string {
  const transaction = parse(unsigned.payload);
  transaction.sign(...keys);
  return transaction.toXDR();
}

describe('what is prepared', () => {
  it('is the holder’s own transaction, unsigned, for minutes of the network’s time', async () => {
    const unsigned = await prepareIt();
    expect(unsigned).toMatchObject({ format: 'stellar-xdr', holder: holder.publicKey() });
    const transaction = parse(unsigned.payload);
    expect(transaction.source).toBe(holder.publicKey());
    expect(transaction.signatures).toHaveLength(0);
    expect(transaction.timeBounds?.maxTime).toBe(String(unsigned.validUntil));
    const { closedAt } = await testbed.network.status();
    expect(unsigned.validUntil).toBeGreaterThan(closedAt + 300n);
  });

  it('is refused for what the holder can’t do, and for who can’t sign', async () => {
    const tooMuch = { ...retireOne, amount: 1_000n * TONNE };
    expect((await refusalOf(prepareIt(tooMuch))).reason).toBe('INSUFFICIENT_BALANCE');
    const nowhere = { ...retireOne, tokenAddress: testbed.freshAddress() };
    expect((await refusalOf(prepareIt(nowhere))).reason).toBe('CONTRACT_NOT_FOUND');
    expect((await refusalOf(prepareIt(retireOne, tokenAddress))).message).toContain('no account');
    const unfunded = testbed.freshAddress();
    await land(testbed.network, { kind: 'mint', tokenAddress, to: unfunded, amount: TONNE });
    expect((await refusalOf(prepareIt(retireOne, unfunded))).message).toContain('does not exist');
    await refusalOf(prepareIt({ kind: 'setAllowance', tokenAddress, amount: 1n }));
  });
});

describe('what comes back', () => {
  it('is submitted when the holder signed it: it burns their balance alone', async () => {
    const unsigned = await prepareIt();
    const prepared = await testbed.network.openSigned(retireOne, unsigned, sign(unsigned, holder));
    expect(prepared).toMatchObject({ source: holder.publicKey(), validUntil: unsigned.validUntil });
    expect(prepared.sequence).toBe(BigInt(parse(unsigned.payload).sequence));
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    expect(await settled(testbed.twin, prepared)).toMatchObject({
      status: 'succeeded',
      result: { kind: 'retired' },
    });
    const { records } = await testbed.network.retirementRecords(tokenAddress, 0, 200);
    expect(records.at(-1)).toMatchObject({ retiredBy: holder.publicKey(), beneficiary: 'Wallet Ltd' });
    expect(await testbed.network.balanceOf(tokenAddress, testbed.custody.publicKey())).toBe(TONNE);
  });

  it('is found when the wallet sent it by itself, however long ago within its time', async () => {
    const unsigned = await prepareIt();
    const signed = sign(unsigned, holder);
    await testbed.network.broadcast(parse(signed).toEnvelope().toXDR());
    await testbed.advanceClock(500);
    const prepared = await testbed.network.openSigned(retireOne, unsigned, signed);
    expect(await settled(testbed.network, prepared)).toMatchObject({ status: 'succeeded' });
    const landed = await testbed.network.outcome(prepared);
    if (landed.status !== 'succeeded') throw new Error('not reached');
    expect(prepared.preparedAtLedger).toBeLessThan(landed.ledger);
  });

  it('deposits a receipt for a cash-out from the holder’s own address', async () => {
    const receipt = await deploy(testbed.network, deployReceipt(4_000_000_000n));
    await land(testbed.network, { kind: 'mint', tokenAddress: receipt, to: holder.publicKey(), amount: 50n });
    const deposit = {
      kind: 'depositOffRamp',
      sessionId: 'a-session',
      tokenAddress: receipt,
      amount: 50n,
    } as const;
    await testbed.network.checkDeposit(deposit, holder.publicKey());
    const unsigned = await prepareIt(deposit);
    const prepared = await testbed.network.openSigned(deposit, unsigned, sign(unsigned, holder));
    await testbed.network.broadcast(prepared.signedBytes);
    expect(await settled(testbed.network, prepared)).toMatchObject({ status: 'succeeded' });
    expect(await depositInUse(testbed.network, 'a-session')).toMatchObject({
      depositor: holder.publicKey(),
      status: 'PENDING',
    });
    await land(testbed.network, { kind: 'refundOffRamp', sessionId: 'a-session' });
    expect(await testbed.network.balanceOf(receipt, holder.publicKey())).toBe(50n);
    const tooMuch = { ...deposit, sessionId: 'another', amount: 51n };
    expect((await refusalOf(testbed.network.checkDeposit(tooMuch, holder.publicKey()))).reason).toBe(
      'INSUFFICIENT_BALANCE',
    );
  });

  it('is checked for a depositor that is a contract as well, which has no transactions of its own', async () => {
    const receipt = await deploy(testbed.network, deployReceipt(4_000_000_000n));
    await land(testbed.network, { kind: 'mint', tokenAddress: receipt, to: tokenAddress, amount: 5n });
    const deposit = { kind: 'depositOffRamp', sessionId: 'vault', tokenAddress: receipt } as const;
    await testbed.network.checkDeposit({ ...deposit, amount: 5n }, tokenAddress);
    const tooMuch = testbed.network.checkDeposit({ ...deposit, amount: 6n }, tokenAddress);
    expect((await refusalOf(tooMuch)).reason).toBe('INSUFFICIENT_BALANCE');
  });

  const refused: [string, (unsigned: UnsignedTransaction) => string | Promise<string>, string][] = [
    ['nothing at all', () => '', 'no transaction envelope'],
    ['something else', () => 'not base64 of anything', 'no transaction envelope'],
    ['a flood', () => 'A'.repeat(1_000_000), 'no transaction envelope'],
    ['it unsigned', ({ payload }) => payload, '0 signatures'],
    ['it signed by another key', (unsigned) => sign(unsigned, Keypair.random()), 'not that of'],
    ['it signed by two', (unsigned) => sign(unsigned, holder, Keypair.random()), '2 signatures'],
    ['it signed twice', (unsigned) => sign(unsigned, holder, holder), '2 signatures'],
    [
      'another act of the holder',
      async () => sign(await prepareIt({ ...retireOne, amount: 2n * TONNE }), holder),
      'operations',
    ],
    [
      'it with more operations',
      ({ payload }) => {
        const more = TransactionBuilder.cloneFrom(parse(payload))
          .addOperation(Operation.bumpSequence({ bumpTo: '1' }))
          .build();
        more.sign(holder);
        return more.toXDR();
      },
      'operations',
    ],
    [
      'it with a longer life',
      ({ payload }) => {
        const given = parse(payload);
        const later = TransactionBuilder.cloneFrom(given, {
          fee: given.fee,
          timebounds: { minTime: 0, maxTime: 9_999_999_999 },
        }).build();
        later.sign(holder);
        return later.toXDR();
      },
      'time bounds',
    ],
    [
      'it in a fee bump',
      (unsigned) => {
        const inner = parse(sign(unsigned, holder));
        const bump = TransactionBuilder.buildFeeBumpTransaction(
          holder,
          '100000',
          inner,
          testbed.devnet.passphrase,
        );
        bump.sign(holder);
        return bump.toXDR();
      },
      'fee bump',
    ],
    [
      'it signed for another network',
      ({ payload }) => {
        const elsewhere = TransactionBuilder.fromXDR(payload, 'Another Network') as Transaction;
        elsewhere.sign(holder);
        return elsewhere.toXDR();
      },
      'not that of',
    ],
  ];
  for (const [what, change, problem] of refused) {
    it(`is refused when it is ${what}`, async () => {
      const unsigned = await prepareIt();
      const signed = await change(unsigned);
      const refusal = await refusalOf(testbed.network.openSigned(retireOne, unsigned, signed));
      expect(refusal.reason).toBe('NOT_AS_PREPARED');
      expect(refusal.message).toContain(problem);
    });
  }

  it('is refused when what was prepared is not the call that it is said to be', async () => {
    const unsigned = await prepareIt();
    const other = { ...retireOne, amount: 2n * TONNE };
    const opened = testbed.network.openSigned(other, unsigned, sign(unsigned, holder));
    expect((await refusalOf(opened)).message).toContain('not this retire');
  });
});
