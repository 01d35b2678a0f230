/**
 * Reads a landed envelope's call, and the call's result.
 */
import {
  Address as SdkAddress,
  encodeMuxedAccountToAddress,
  extractBaseAddress,
  StrKey,
} from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { Address, CallResult } from '../port.ts';
import { deployedAddress, retirementIndexOf } from './addresses.ts';
import type { LandedTransaction } from './nodeAnswers.ts';
import { SALT_PLACE, type ContractCall } from './calls.ts';
import { asAddress, asHash32, asU32, plain } from './scvals.ts';

export type LandedCall = ContractCall & { caller: Address };

/** Place of the index in the value of a retirement's event. */
const INDEX_PLACE = 2;

/** @throws NetworkUnavailable if this adapter does not make such envelopes */
export function landedCallOf(envelope: xdr.TransactionEnvelope): LandedCall {
  const transaction = innerEnvelope(envelope).tx();
  const [operation] = transaction.operations();
  const body = operation?.body();
  const invocation = body?.switch().name === 'invokeHostFunction' ? body.invokeHostFunctionOp() : null;
  if (invocation?.hostFunction().switch().name !== 'hostFunctionTypeInvokeContract') {
    throw new NetworkUnavailable(
      'The Stellar node shows another transaction under this hash: it calls no contract',
    );
  }
  const call = invocation.hostFunction().invokeContract();
  return {
    contract: SdkAddress.fromScAddress(call.contractAddress()).toString(),
    functionName: String(call.functionName()),
    args: call.args(),
    caller: accountOf(operation?.sourceAccount() ?? transaction.sourceAccount()),
  };
}

/** The account itself, without a muxed account's id. */
export function accountOf(account: xdr.MuxedAccount): Address {
  return extractBaseAddress(encodeMuxedAccountToAddress(account, true));
}

/** The transaction that makes the call: of a fee bump, the inner one. */
export function innerEnvelope(envelope: xdr.TransactionEnvelope): xdr.TransactionV1Envelope {
  const kind = envelope.switch().name;
  if (kind === 'envelopeTypeTx') return envelope.v1();
  if (kind === 'envelopeTypeTxFeeBump') return envelope.feeBump().tx().innerTx().v1();
  throw new NetworkUnavailable(
    `The Stellar node shows an envelope of the kind ${kind}, which is never sent here`,
  );
}

/** @throws NetworkUnavailable if the node does not show the call's result */
export function resultOf(landed: LandedTransaction, call: LandedCall, passphrase: string): CallResult {
  if (call.functionName.startsWith('deploy_')) {
    return { kind: 'deployed', contractAddress: deployedBy(landed, call, passphrase) };
  }
  if (call.functionName === 'retire') {
    const [inEvents] = indexesInEvents(landed, call.contract);
    const retirementIndex = inEvents ?? indexInChanges(landed, call.contract);
    if (retirementIndex !== null) return { kind: 'retired', retirementIndex };
    throw new NetworkUnavailable(
      `The retirement landed in ledger ${landed.ledger}, but the node does not show its index`,
    );
  }
  return { kind: 'done' };
}

/**
 * Without a return value, the address that the factory gives this salt, as verified before signing
 * (draft.ts).
 */
function deployedBy(
  { returnValue }: LandedTransaction,
  { contract, args }: LandedCall,
  passphrase: string,
): Address {
  if (returnValue) return asAddress(plain(returnValue), 'the deployed address');
  const salt = args[SALT_PLACE];
  if (!salt) throw new NetworkUnavailable('The Stellar node shows a deploy without a salt');
  return deployedAddress(passphrase, contract, asHash32(plain(salt), 'salt'));
}

/** Only from the token's own events: `("retired", retired_by)` → `(amount, beneficiary, index, timestamp)` */
export function indexesInEvents({ events }: LandedTransaction, token: Address): number[] {
  return events.flatMap((event) => {
    const contractId = event.contractId() as unknown as Buffer | null;
    const [name] = event.body().v0().topics();
    const isOwn = contractId !== null && StrKey.encodeContract(contractId) === token;
    return isOwn && name && plain(name) === 'retired' ? (indexIn(event.body().v0().data()) ?? []) : [];
  });
}

/** The index in the value of a retirement's event. */
export function indexIn(value: xdr.ScVal): number | null {
  const read = plain(value);
  return Array.isArray(read) ? asU32(read[INDEX_PLACE], 'index') : null;
}

/** The index of the record that was written, if the node shows no events. */
export function indexInChanges({ changes }: LandedTransaction, token: Address): number | null {
  for (const change of changes) {
    if (change.switch().name !== 'ledgerEntryCreated') continue;
    const data = change.created().data();
    if (data.switch().name !== 'contractData') continue;
    const index = retirementIndexOf(data.contractData(), token);
    if (index !== null) return index;
  }
  return null;
}
