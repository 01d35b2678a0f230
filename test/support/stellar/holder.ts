/**
 * An account on the network with lumens and some tokens, and a test's operations on its transactions.
 */
import { Account, TransactionBuilder } from '@stellar/stellar-sdk';
import type { FeeBumpTransaction, Keypair, Transaction, xdr } from '@stellar/stellar-sdk';
import { address, i128 } from './values.ts';
import { retireArguments } from './testbed.ts';
import type { SorobanTestbed } from './testbed.ts';

interface Change {
  /** The whole fee, resources included. */
  fee?: string;
  sequence?: bigint;
  minTime?: number;
  maxTime?: number;
  data?: xdr.SorobanTransactionData;
  /** Sign instead of the holder. */
  signers?: Keypair[];
  passphrase?: string;
}

export interface Holder {
  keys: Keypair;
  /** Prepares a transaction that retires one unit of the account's tokens. */
  retirement(): Promise<Transaction>;
  /** Returns the same call with a change, signed again. */
  changed(original: Transaction, change: Change): Transaction;
  bump(inner: Transaction, feePerOperation: number, payer: Keypair): FeeBumpTransaction;
  /** Returns the node's status, or its reason for a refusal. */
  send(transaction: Transaction | FeeBumpTransaction): Promise<string>;
  statusOf(transaction: Transaction | FeeBumpTransaction): Promise<string>;
}

const TOKENS = 10n;

export async function createHolder(testbed: SorobanTestbed): Promise<Holder> {
  const { client, custody, token, devnet } = testbed;
  const keys = testbed.account();
  const transfer = [address(custody.publicKey()), address(keys.publicKey()), i128(TOKENS)];
  await client.call(custody, token, 'transfer', transfer);
  return {
    keys,
    retirement: () => client.prepare(keys, token, 'retire', retireArguments(keys, 1n)),
    changed(original, change) {
      const passphrase = change.passphrase ?? devnet.passphrase;
      const transaction = withChange(original, change, passphrase);
      transaction.sign(...(change.signers ?? [keys]));
      return transaction;
    },
    bump(inner, feePerOperation, payer) {
      const fee = String(feePerOperation);
      const built = TransactionBuilder.buildFeeBumpTransaction(payer, fee, inner, devnet.passphrase);
      built.sign(payer);
      return built;
    },
    async send(transaction) {
      const answer = await client.server.sendTransaction(transaction);
      return answer.status === 'ERROR' ? String(answer.errorResult?.result().switch().name) : answer.status;
    },
    async statusOf(transaction) {
      return (await client.server.getTransaction(transaction.hash().toString('hex'))).status;
    },
  };
}

export function dataOf(transaction: Transaction): xdr.SorobanTransactionData {
  return transaction.toEnvelope().v1().tx().ext().sorobanData();
}

/** Returns a fee bump's offer for inclusion, which core compares with other offers by operation. */
export function inclusionOf(bumped: FeeBumpTransaction): bigint {
  return BigInt(bumped.fee) - dataOf(bumped.innerTransaction).resourceFee().toBigInt();
}

export async function sequenceOf(testbed: SorobanTestbed, owner: Keypair): Promise<bigint> {
  return BigInt((await testbed.client.server.getAccount(owner.publicKey())).sequenceNumber());
}

export async function lumensOf(testbed: SorobanTestbed, owner: Keypair): Promise<bigint> {
  return (await testbed.client.server.getAccountEntry(owner.publicKey())).balance().toBigInt();
}

export function clockOf(testbed: SorobanTestbed): number {
  return testbed.devnet.controls.latest().closedAt;
}

function withChange(original: Transaction, change: Change, networkPassphrase: string): Transaction {
  const sequence = change.sequence ?? BigInt(original.sequence);
  const [operation] = original.toEnvelope().v1().tx().operations();
  if (!operation) throw new Error('The original has no operation');
  const built = new TransactionBuilder(new Account(original.source, String(sequence - 1n)), {
    fee: original.fee,
    networkPassphrase,
    timebounds: {
      minTime: change.minTime ?? 0,
      maxTime: change.maxTime ?? Number(original.timeBounds?.maxTime),
    },
    sorobanData: change.data ?? dataOf(original),
  })
    .addOperation(operation)
    .build();
  // The builder adds the resource fee to the fee, but `change.fee` is the whole fee.
  const envelope = built.toEnvelope();
  envelope
    .v1()
    .tx()
    .fee(Number(change.fee ?? original.fee));
  return TransactionBuilder.fromXDR(envelope, networkPassphrase) as Transaction;
}
