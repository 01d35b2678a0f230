/**
 * The metadata that a ledger keeps of a transaction: what it changed, what its contract said and returned.
 */
import { xdr } from '@stellar/stellar-sdk';
import { MEMORY_STATE_PROTOCOL } from './fees.ts';
import type { EntryStep, Landed } from './landing.ts';
import { ledgerEntry } from './simulation.ts';

/** Version 4 since protocol 23, version 3 before. */
export function transactionMeta(
  landed: Landed,
  options: { protocolVersion: number; showsDiagnostics: boolean },
): xdr.TransactionMeta {
  const common = {
    ext: new xdr.ExtensionPoint(0),
    txChangesBefore: landed.feeSteps.flatMap(entryChanges),
    txChangesAfter: landed.refundSteps.flatMap(entryChanges),
  };
  const diagnosticEvents = options.showsDiagnostics ? landed.diagnostics : [];
  return options.protocolVersion >= MEMORY_STATE_PROTOCOL
    ? new xdr.TransactionMeta(4, metaV4(landed, common, diagnosticEvents))
    : new xdr.TransactionMeta(3, metaV3(landed, common, diagnosticEvents));
}

interface Common {
  ext: xdr.ExtensionPoint;
  txChangesBefore: xdr.LedgerEntryChange[];
  txChangesAfter: xdr.LedgerEntryChange[];
}

function metaV4(
  { operationSteps, events, returnValue }: Landed,
  common: Common,
  diagnosticEvents: xdr.DiagnosticEvent[],
): xdr.TransactionMetaV4 {
  const ext = new xdr.SorobanTransactionMetaExt(0);
  return new xdr.TransactionMetaV4({
    ...common,
    operations: operationSteps.map((steps, index) => {
      const changes = steps.flatMap(entryChanges);
      const own = index === 0 ? events : [];
      return new xdr.OperationMetaV2({ ext: new xdr.ExtensionPoint(0), changes, events: own });
    }),
    sorobanMeta: returnValue ? new xdr.SorobanTransactionMetaV2({ ext, returnValue }) : null,
    events: [],
    diagnosticEvents,
  });
}

function metaV3(
  { operationSteps, events, returnValue }: Landed,
  common: Common,
  diagnosticEvents: xdr.DiagnosticEvent[],
): xdr.TransactionMetaV3 {
  const ext = new xdr.SorobanTransactionMetaExt(0);
  return new xdr.TransactionMetaV3({
    ...common,
    operations: operationSteps.map(
      (steps) => new xdr.OperationMeta({ changes: steps.flatMap(entryChanges) }),
    ),
    sorobanMeta: returnValue
      ? new xdr.SorobanTransactionMeta({ ext, events, returnValue, diagnosticEvents })
      : null,
  });
}

function entryChanges({ before, after }: EntryStep): xdr.LedgerEntryChange[] {
  const state = before ? [xdr.LedgerEntryChange.ledgerEntryState(ledgerEntry(before))] : [];
  if (!after) return before ? [...state, xdr.LedgerEntryChange.ledgerEntryRemoved(before.key)] : [];
  const entry = ledgerEntry(after);
  return before
    ? [...state, xdr.LedgerEntryChange.ledgerEntryUpdated(entry)]
    : [xdr.LedgerEntryChange.ledgerEntryCreated(entry)];
}
