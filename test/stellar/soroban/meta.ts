/**
 * The metadata that a ledger keeps of a transaction: what it changed, what its contract said and returned.
 */
import { xdr } from '@stellar/stellar-sdk';
import type { Landed } from './landing.ts';
import type { EntryChanges, EntryReader } from './ledgerState.ts';
import { ledgerEntry } from './simulation.ts';

/** Version 4 since protocol 23, version 3 before. */
export function transactionMeta(
  landed: Landed,
  before: EntryReader,
  options: { protocolVersion: number; showsDiagnostics: boolean },
): xdr.TransactionMeta {
  const common = {
    ext: new xdr.ExtensionPoint(0),
    txChangesBefore: entryChanges(landed.feeChanges, before),
    txChangesAfter: entryChanges(landed.refundChanges, before),
  };
  const changes = entryChanges(landed.operationChanges, before);
  const diagnosticEvents = options.showsDiagnostics ? landed.diagnostics : [];
  const { events, returnValue } = landed;
  const ext = new xdr.SorobanTransactionMetaExt(0);
  if (options.protocolVersion >= 23) {
    const operation = new xdr.OperationMetaV2({ ext: new xdr.ExtensionPoint(0), changes, events });
    const sorobanMeta = returnValue ? new xdr.SorobanTransactionMetaV2({ ext, returnValue }) : null;
    return new xdr.TransactionMeta(
      4,
      new xdr.TransactionMetaV4({
        ...common,
        operations: [operation],
        sorobanMeta,
        events: [],
        diagnosticEvents,
      }),
    );
  }
  const sorobanMeta = returnValue
    ? new xdr.SorobanTransactionMeta({ ext, events, returnValue, diagnosticEvents })
    : null;
  return new xdr.TransactionMeta(
    3,
    new xdr.TransactionMetaV3({
      ...common,
      operations: [new xdr.OperationMeta({ changes })],
      sorobanMeta,
    }),
  );
}

function entryChanges(changes: EntryChanges, before: EntryReader): xdr.LedgerEntryChange[] {
  return [...changes].flatMap(([id, after]) => {
    const old = before.get(id);
    const state = old ? [xdr.LedgerEntryChange.ledgerEntryState(ledgerEntry(old))] : [];
    if (!after) return old ? [...state, xdr.LedgerEntryChange.ledgerEntryRemoved(old.key)] : [];
    const entry = ledgerEntry(after);
    return [
      ...state,
      old ? xdr.LedgerEntryChange.ledgerEntryUpdated(entry) : xdr.LedgerEntryChange.ledgerEntryCreated(entry),
    ];
  });
}
