/**
 * Opening what was sent: a transaction envelope, or a fee bump around one.
 */
import { createHash } from 'node:crypto';
import { FeeBumpTransaction, MuxedAccount, StrKey, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';

export interface OpenedTransaction {
  /** Of the envelope that was sent: the outer one of a fee bump. Lower-case hex, like all hashes here. */
  hash: string;
  innerHash: string;
  envelope: xdr.TransactionEnvelope;
  /** The account whose sequence number is used. */
  source: string;
  sequence: bigint;
  minTime: bigint;
  /** 0 for ever. */
  maxTime: bigint;
  hasMemo: boolean;
  operations: readonly xdr.Operation[];
  sorobanData: xdr.SorobanTransactionData | null;
  /** Of the inner transaction: its fee field. */
  fee: bigint;
  signaturePayload: Buffer;
  signatures: readonly xdr.DecoratedSignature[];
  feeBump: {
    feeSource: string;
    fee: bigint;
    payload: Buffer;
    signatures: readonly xdr.DecoratedSignature[];
  } | null;
  bytes: number;
}

/** Null when the bytes are no transaction. */
export function openEnvelope(base64: string, passphrase: string): OpenedTransaction | null {
  try {
    const envelope = xdr.TransactionEnvelope.fromXDR(base64, 'base64');
    return opened(envelope, TransactionBuilder.fromXDR(envelope, passphrase));
  } catch {
    return null;
  }
}

export function isSoroban(operation: xdr.Operation): boolean {
  return ['invokeHostFunction', 'extendFootprintTtl', 'restoreFootprint'].includes(
    operation.body().switch().name,
  );
}

/** The account that an operation acts for. */
export function operationSource(operation: xdr.Operation, transactionSource: string): string {
  const source = operation.sourceAccount();
  return source ? plainAccount(source) : transactionSource;
}

/** The ed25519 account behind a muxed one. */
export function plainAccount(account: xdr.MuxedAccount): string {
  const bytes = account.switch().name === 'keyTypeEd25519' ? account.ed25519() : account.med25519().ed25519();
  return StrKey.encodeEd25519PublicKey(bytes);
}

function opened(
  envelope: xdr.TransactionEnvelope,
  transaction: Transaction | FeeBumpTransaction,
): OpenedTransaction | null {
  const inner = transaction instanceof FeeBumpTransaction ? transaction.innerTransaction : transaction;
  const innerEnvelope = inner.toEnvelope();
  if (innerEnvelope.switch().name !== 'envelopeTypeTx') return null;
  const tx = innerEnvelope.v1().tx();
  const payload = inner.hash();
  return {
    hash: transaction.hash().toString('hex'),
    innerHash: payload.toString('hex'),
    envelope,
    source: plainAccount(tx.sourceAccount()),
    sequence: BigInt(inner.sequence),
    minTime: BigInt(inner.timeBounds?.minTime ?? 0),
    maxTime: BigInt(inner.timeBounds?.maxTime ?? 0),
    hasMemo: tx.memo().switch().name !== 'memoNone',
    operations: tx.operations(),
    sorobanData: tx.ext().switch() === 1 ? tx.ext().sorobanData() : null,
    fee: BigInt(tx.fee()),
    signaturePayload: payload,
    signatures: inner.signatures,
    feeBump: transaction instanceof FeeBumpTransaction ? feeBumpOf(transaction) : null,
    bytes: envelope.toXDR().length,
  };
}

function feeBumpOf(transaction: FeeBumpTransaction): OpenedTransaction['feeBump'] {
  return {
    feeSource: plainOf(transaction.feeSource),
    fee: BigInt(transaction.fee),
    payload: transaction.hash(),
    signatures: transaction.signatures,
  };
}

function plainOf(account: string): string {
  return account.startsWith('M') ? MuxedAccount.fromAddress(account, '0').baseAccount().accountId() : account;
}

/** A hash for what has no other: ledgers. */
export function sha256(...parts: (string | Buffer)[]): Buffer {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest();
}
