/**
 * Applying one transaction that a ledger took. Its sequence number and its fee are spent whatever comes of it.
 */
import { xdr } from '@stellar/stellar-sdk';
import { withSequence } from './accounts.ts';
import { operationSource } from './envelopes.ts';
import type { OpenedTransaction } from './envelopes.ts';
import { declaredResources, nonRefundableFee, refundableFee } from './fees.ts';
import { extendEntries, restoreEntries } from './footprintOperations.ts';
import type { LedgerInfo } from './host.ts';
import { invoke } from './invocations.ts';
import type { InvocationDeps, Invoked } from './invocations.ts';
import { accountKey, idOf, isTemporary } from './ledgerKeys.ts';
import type { EntryId } from './ledgerKeys.ts';
import { createOverlay } from './ledgerState.ts';
import type { Overlay, StoredEntry } from './ledgerState.ts';
import { createAccount, credit, pay } from './lumens.ts';
import { invokeFailure, invokeSuccess, landedResult, notSupported } from './results.ts';
import type { OperationOutcome } from './results.ts';
import { isExpired } from './storage.ts';
import { inclusionFee, operationCount, payerOf, resourceFee } from './validity.ts';

export interface Landed {
  isSuccess: boolean;
  result: xdr.TransactionResult;
  returnValue: xdr.ScVal | null;
  events: xdr.ContractEvent[];
  diagnostics: xdr.DiagnosticEvent[];
  /** Fee and sequence first, then what each operation did, then what came back. */
  feeSteps: EntryStep[];
  operationSteps: EntryStep[][];
  refundSteps: EntryStep[];
}

/** One entry's change; null where there was none, or is none. */
export interface EntryStep {
  before: StoredEntry | null;
  after: StoredEntry | null;
}

/** What one operation came to; its changes are in the overlay that it was given. */
interface Applied {
  outcome: OperationOutcome;
  returnValue?: xdr.ScVal;
  events?: xdr.ContractEvent[];
  diagnostics?: xdr.DiagnosticEvent[];
  /** Of the refundable part of the resource fee. */
  spent?: bigint;
}

/** Stroops that one operation pays for being let in, in the ledger that takes it. */
interface LandingDeps extends InvocationDeps {
  inclusionPrice: bigint;
}

export function land(
  deps: LandingDeps,
  transaction: OpenedTransaction,
  ledger: LedgerInfo,
  state: Overlay,
): Landed {
  const charged = feeOf(transaction, deps.inclusionPrice);
  const fees = createOverlay(state);
  spend(fees, transaction, charged, ledger);
  const feeSteps = take(state, fees);

  const work = createOverlay(state);
  const applied: Applied[] = [];
  const operationSteps: EntryStep[][] = [];
  for (const operation of transaction.operations) {
    const own = createOverlay(work);
    const one = applyOperation(deps, transaction, operation, ledger, own);
    applied.push(one);
    operationSteps.push(take(work, own));
    if (!one.outcome.isSuccess) break;
  }
  const isSuccess = applied.every(({ outcome }) => outcome.isSuccess);
  if (isSuccess) state.merge(work.changes());

  const spent = isSuccess ? (applied[0]?.spent ?? 0n) : 0n;
  const refund = refundOf(transaction, spent, deps.protocolVersion);
  const refunds = createOverlay(state);
  credit(refunds, payerOf(transaction), refund, ledger.sequence);
  const refundSteps = take(state, refunds);
  const [first] = applied;
  return {
    isSuccess,
    result: landedResult(
      {
        innerHash: transaction.innerHash,
        isFeeBump: transaction.feeBump !== null,
        feeCharged: charged - refund,
      },
      applied.map(({ outcome }) => outcome),
    ),
    returnValue: isSuccess ? (first?.returnValue ?? null) : null,
    events: isSuccess ? (first?.events ?? []) : [],
    diagnostics: first?.diagnostics ?? [],
    feeSteps,
    operationSteps: isSuccess ? operationSteps : [],
    refundSteps,
  };
}

/** Takes an overlay's changes over into what it lies on. */
function take(below: Overlay, above: Overlay): EntryStep[] {
  const steps = [...above.changes()].map(([id, after]) => ({ before: below.get(id), after }));
  below.merge(above.changes());
  return steps;
}

function feeOf(transaction: OpenedTransaction, inclusionPrice: bigint): bigint {
  const price = inclusionPrice * operationCount(transaction);
  const offered = inclusionFee(transaction);
  return resourceFee(transaction) + (price < offered ? price : offered);
}

/** The fee is the payer's, the sequence number always the source's. */
function spend(state: Overlay, transaction: OpenedTransaction, fee: bigint, ledger: LedgerInfo): void {
  credit(state, payerOf(transaction), -fee, ledger.sequence);
  const id = idOf(accountKey(transaction.source));
  const entry = state.get(id);
  if (!entry) throw new Error(`The source ${transaction.source} is gone: the transaction should not be here`);
  const account = withSequence(entry.data.account(), transaction.sequence, ledger);
  state.put(id, { ...entry, data: xdr.LedgerEntryData.account(account), lastModified: ledger.sequence });
}

/** What was paid for and not used comes back; a failed transaction used none of its refundable part. */
function refundOf(transaction: OpenedTransaction, spent: bigint, protocolVersion: number): bigint {
  if (!transaction.sorobanData) return 0n;
  const declared = declaredResources(transaction.sorobanData, protocolVersion);
  const fixed = nonRefundableFee(declared, transaction.bytes);
  const refundable = resourceFee(transaction) - fixed;
  return refundable > spent ? refundable - spent : 0n;
}

function applyOperation(
  deps: LandingDeps,
  transaction: OpenedTransaction,
  operation: xdr.Operation,
  ledger: LedgerInfo,
  work: Overlay,
): Applied {
  const source = operationSource(operation, transaction.source);
  const body = operation.body();
  const type: string = body.switch().name;
  switch (type) {
    case 'invokeHostFunction':
      return applyInvocation(deps, transaction, body.invokeHostFunctionOp(), { source, ledger, work });
    case 'restoreFootprint': {
      const times = { ledger: ledger.sequence, ttl: deps.persistentTtl };
      return { outcome: restoreEntries(transaction, times, work) };
    }
    case 'extendFootprintTtl': {
      const extendTo = body.extendFootprintTtlOp().extendTo();
      return { outcome: extendEntries(transaction, extendTo, ledger.sequence, work) };
    }
    case 'createAccount':
      return { outcome: createAccount(body.createAccountOp(), source, ledger.sequence, work) };
    case 'payment':
      return { outcome: pay(body.paymentOp(), source, ledger.sequence, work) };
    default:
      return { outcome: notSupported() };
  }
}

function applyInvocation(
  deps: LandingDeps,
  transaction: OpenedTransaction,
  operation: xdr.InvokeHostFunctionOp,
  at: { source: string; ledger: LedgerInfo; work: Overlay },
): Applied {
  const { sorobanData } = transaction;
  if (!sorobanData) throw new Error('A contract call without resources should have been refused');
  const footprint = sorobanData.resources().footprint();
  const keys = { readOnly: footprint.readOnly(), readWrite: footprint.readWrite() };
  const restoring = restoringIds(sorobanData);
  const isArchived = [...keys.readOnly, ...keys.readWrite].some((key) => {
    const entry = at.work.get(idOf(key));
    return (
      entry !== null && isExpired(entry, at.ledger.sequence) && !isTemporary(key) && !restoring.has(idOf(key))
    );
  });
  if (isArchived) return { outcome: invokeFailure('invokeHostFunctionEntryArchived') };
  const invoked = invoke(deps, {
    below: at.work,
    ledger: at.ledger,
    source: at.source,
    operation,
    authMode: { kind: 'enforce', entries: operation.auth() },
    footprint: keys,
    restoring,
  });
  if (!invoked) return { outcome: invokeFailure('invokeHostFunctionTrapped') };
  const { protocolVersion } = deps;
  return settleInvocation(transaction, sorobanData, invoked, { work: at.work, protocolVersion });
}

function settleInvocation(
  transaction: OpenedTransaction,
  sorobanData: xdr.SorobanTransactionData,
  invoked: Invoked,
  { work, protocolVersion }: { work: Overlay; protocolVersion: number },
): Applied {
  const { outcome, diagnostics, events } = invoked.run;
  if (outcome.kind === 'failed') {
    return { outcome: invokeFailure('invokeHostFunctionTrapped'), diagnostics };
  }
  const declared = declaredResources(sorobanData, protocolVersion);
  const { used } = invoked;
  if (
    used.instructions > declared.instructions ||
    used.readBytes > declared.readBytes ||
    used.writeBytes > declared.writeBytes
  ) {
    return { outcome: invokeFailure('invokeHostFunctionResourceLimitExceeded'), diagnostics };
  }
  const spent = refundableFee(invoked.eventBytes, invoked.rentedBytes);
  if (spent > resourceFee(transaction) - nonRefundableFee(declared, transaction.bytes)) {
    return { outcome: invokeFailure('invokeHostFunctionInsufficientRefundableFee'), diagnostics };
  }
  work.merge(invoked.storage.changes());
  const success = invokeSuccess(outcome.value, events);
  return { outcome: success, returnValue: outcome.value, events, diagnostics, spent };
}

/** Entries of the footprint that the transaction restores by itself, which protocols from 23 on allow. */
function restoringIds(data: xdr.SorobanTransactionData): ReadonlySet<EntryId> {
  if (data.ext().switch() !== 1) return new Set();
  const written = data.resources().footprint().readWrite();
  const indexes = data.ext().resourceExt().archivedSorobanEntries();
  return new Set(indexes.flatMap((index) => (written[index] ? [idOf(written[index])] : [])));
}
