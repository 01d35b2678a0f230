/**
 * Whether a transaction could land now: a node's checks before it accepts one, repeated when a ledger closes.
 */
import { Keypair, xdr } from '@stellar/stellar-sdk';
import { balanceOf, sequenceOf } from './accounts.ts';
import { verify } from './ed25519.ts';
import { isSoroban, operationSource } from './envelopes.ts';
import type { OpenedTransaction } from './envelopes.ts';
import { areWithinLimits, BASE_FEE, declaredResources, nonRefundableFee } from './fees.ts';
import { accountKey, idOf } from './ledgerKeys.ts';
import type { EntryReader } from './ledgerState.ts';
import { MINIMUM_BALANCE } from './lumens.ts';
import { innerRejectionResult, rejectionResult } from './results.ts';
import type { Rejection } from './results.ts';

export interface ValidityContext {
  state: EntryReader;
  /** Unix seconds of the ledger's clock. */
  closedAt: bigint;
  protocolVersion: number;
}

/** Null when the transaction could land. */
export function rejectionOf(
  transaction: OpenedTransaction,
  context: ValidityContext,
): xdr.TransactionResult | null {
  const { feeBump } = transaction;
  if (!feeBump) {
    const rejection = checkTransaction(transaction, context, true);
    return rejection ? rejectionResult(rejection, feeToName(rejection, minimumFee(transaction))) : null;
  }
  const outer = checkFeeBump(transaction, context);
  if (outer) return rejectionResult(outer, feeToName(outer, minimumFee(transaction)));
  const inner = checkTransaction(transaction, context, false);
  return inner ? innerRejectionResult(transaction.innerHash, inner, 0n) : null;
}

/** The bid for inclusion, without resources. */
export function inclusionFee(transaction: OpenedTransaction): bigint {
  return (transaction.feeBump?.fee ?? transaction.fee) - resourceFee(transaction);
}

/** Fee bumps count as one operation more. */
export function operationCount(transaction: OpenedTransaction): bigint {
  return BigInt(transaction.operations.length + (transaction.feeBump ? 1 : 0));
}

export function resourceFee(transaction: OpenedTransaction): bigint {
  return transaction.sorobanData?.resourceFee().toBigInt() ?? 0n;
}

export function payerOf(transaction: OpenedTransaction): string {
  return transaction.feeBump?.feeSource ?? transaction.source;
}

function minimumFee(transaction: OpenedTransaction): bigint {
  return BASE_FEE * operationCount(transaction);
}

/** A refusal for a low fee names the fee that would be enough. */
function feeToName(rejection: Rejection, minimum: bigint): bigint {
  return rejection.code === 'txInsufficientFee' ? minimum : 0n;
}

function checkTransaction(
  transaction: OpenedTransaction,
  { state, closedAt, protocolVersion }: ValidityContext,
  paysItself: boolean,
): Rejection | null {
  const { operations, fee } = transaction;
  if (operations.length === 0) return { code: 'txMissingOperation' };
  if (transaction.minTime > closedAt) return { code: 'txTooEarly' };
  if (transaction.maxTime !== 0n && transaction.maxTime < closedAt) return { code: 'txTooLate' };
  const malformed = checkSoroban(transaction, protocolVersion);
  if (malformed) return malformed;
  if (paysItself && fee - resourceFee(transaction) < minimumFee(transaction)) {
    return { code: 'txInsufficientFee' };
  }
  const account = state.get(idOf(accountKey(transaction.source)))?.data.account();
  if (!account) return { code: 'txNoAccount' };
  if (transaction.sequence !== sequenceOf(account) + 1n) return { code: 'txBadSeq' };
  const unsigned = checkSignatures(transaction, state);
  if (unsigned) return unsigned;
  if (paysItself && balanceOf(account) - MINIMUM_BALANCE < fee) return { code: 'txInsufficientBalance' };
  return null;
}

function checkSoroban(transaction: OpenedTransaction, protocolVersion: number): Rejection | null {
  const { operations, sorobanData } = transaction;
  if (!operations.some(isSoroban)) return sorobanData ? { code: 'txMalformed' } : null;
  if (!sorobanData) return { code: 'txMalformed' };
  if (operations.length !== 1 || transaction.hasMemo) return { code: 'txSorobanInvalid' };
  const footprint = sorobanData.resources().footprint();
  const ids = [...footprint.readOnly(), ...footprint.readWrite()].map(idOf);
  if (new Set(ids).size !== ids.length) return { code: 'txSorobanInvalid' };
  const resources = declaredResources(sorobanData, protocolVersion);
  if (!areWithinLimits(resources, transaction.bytes)) return { code: 'txSorobanInvalid' };
  const declared = sorobanData.resourceFee().toBigInt();
  if (declared < nonRefundableFee(resources, transaction.bytes)) return { code: 'txSorobanInvalid' };
  const offered = transaction.feeBump?.fee ?? transaction.fee;
  return declared > offered ? { code: 'txSorobanInvalid' } : null;
}

/** Every account that acts must have signed, without further signatures. */
function checkSignatures(transaction: OpenedTransaction, state: EntryReader): Rejection | null {
  const { source, operations, signaturePayload: payload } = transaction;
  const used = new Set<xdr.DecoratedSignature>();
  const isSignedBy = (account: string) => {
    const found = transaction.signatures.find((signature) => matches(signature, account, payload));
    if (found) used.add(found);
    return found !== undefined;
  };
  if (!isSignedBy(source)) return { code: 'txBadAuth' };
  for (const operation of operations) {
    const actor = operationSource(operation, source);
    if (!state.get(idOf(accountKey(actor)))) {
      return { code: 'txFailed', operation: xdr.OperationResult.opNoAccount() };
    }
    if (!isSignedBy(actor)) return { code: 'txFailed', operation: xdr.OperationResult.opBadAuth() };
  }
  return used.size === transaction.signatures.length ? null : { code: 'txBadAuthExtra' };
}

function checkFeeBump(transaction: OpenedTransaction, { state }: ValidityContext): Rejection | null {
  const { feeBump } = transaction;
  if (!feeBump) return null;
  if (inclusionFee(transaction) < minimumFee(transaction)) return { code: 'txInsufficientFee' };
  // The rate per operation may not be lower than the inner transaction's own.
  const inner = transaction.fee - resourceFee(transaction);
  const innerCount = BigInt(transaction.operations.length);
  if (inclusionFee(transaction) * innerCount < inner * operationCount(transaction)) {
    return { code: 'txInsufficientFee' };
  }
  const account = state.get(idOf(accountKey(feeBump.feeSource)))?.data.account();
  if (!account) return { code: 'txNoAccount' };
  const [signature, ...others] = feeBump.signatures;
  if (!signature || !matches(signature, feeBump.feeSource, feeBump.payload)) return { code: 'txBadAuth' };
  if (others.length > 0) return { code: 'txBadAuthExtra' };
  return balanceOf(account) - MINIMUM_BALANCE < feeBump.fee ? { code: 'txInsufficientBalance' } : null;
}

function matches(signature: xdr.DecoratedSignature, account: string, payload: Buffer): boolean {
  const hint = Keypair.fromPublicKey(account).signatureHint();
  return signature.hint().equals(hint) && verify(account, payload, signature.signature());
}
