/**
 * `simulateTransaction`: runs a transaction's one operation on the latest ledger and says what it needs.
 */
import { xdr } from '@stellar/stellar-sdk';
import type { AuthMode } from './authorization.ts';
import type { OpenedTransaction } from './envelopes.ts';
import { operationSource } from './envelopes.ts';
import { estimate } from './estimates.ts';
import { MEMORY_STATE_PROTOCOL, refundableFee } from './fees.ts';
import { errorText } from './hostErrors.ts';
import type { LedgerInfo } from './host.ts';
import { invoke, sizeOf } from './invocations.ts';
import type { InvocationDeps, Invoked } from './invocations.ts';
import { idOf, isTemporary } from './ledgerKeys.ts';
import type { EntryReader, StoredEntry } from './ledgerState.ts';
import { isExpired } from './storage.ts';

/** Archived entries: told apart in a preamble up to protocol 22, restored by the transaction itself from 23 on. */
export interface SimulationDeps extends InvocationDeps {
  newNonce: () => bigint;
}

interface SimulationRequest {
  transaction: OpenedTransaction;
  ledger: LedgerInfo;
  state: EntryReader;
  authMode: string;
}

interface Answer {
  error?: string;
  events?: string[];
  transactionData?: string;
  minResourceFee?: string;
  results?: { auth: string[]; xdr: string }[];
  restorePreamble?: { minResourceFee: string; transactionData: string };
  stateChanges?: { type: string; key: string; before: string | null; after: string | null }[];
}

export function simulate(deps: SimulationDeps, request: SimulationRequest): Answer {
  const { transaction } = request;
  const [operation, ...others] = transaction.operations;
  if (!operation || others.length > 0) return { error: 'Transaction contains more than one operation' };
  if (transaction.hasMemo) {
    return { error: 'Transaction contains a memo. Soroban transactions do not support memos.' };
  }
  const body = operation.body();
  const type: string = body.switch().name;
  switch (type) {
    case 'invokeHostFunction': {
      const source = operationSource(operation, transaction.source);
      return simulateInvocation(deps, request, body.invokeHostFunctionOp(), source);
    }
    case 'extendFootprintTtl':
    case 'restoreFootprint':
      return simulateFootprint(deps, request, body);
    default:
      return { error: `Transaction contains unsupported operation type: ${type}` };
  }
}

function simulateInvocation(
  deps: SimulationDeps,
  request: SimulationRequest,
  operation: xdr.InvokeHostFunctionOp,
  source: string,
): Answer {
  const authMode = authModeOf(request.authMode, operation, deps.newNonce);
  if (typeof authMode === 'string') return { error: authMode };
  const invoked = invoke(deps, {
    below: request.state,
    ledger: request.ledger,
    source,
    operation,
    authMode,
    footprint: null,
    restoring: new Set(),
  });
  if (!invoked)
    return { error: 'HostError: Error(Context, InvalidAction)\n\nthe simulator runs contracts only' };
  const { outcome, diagnostics } = invoked.run;
  const events = diagnostics.map((event) => event.toXDR('base64'));
  if (outcome.kind === 'failed') return { error: errorText(outcome.error, diagnostics), events };
  const needs = needsOf(deps, invoked, request.state, operation, outcome.auth);
  return {
    events,
    transactionData: needs.toXDR('base64'),
    minResourceFee: String(needs.resourceFee().toBigInt()),
    results: [
      { auth: outcome.auth.map((entry) => entry.toXDR('base64')), xdr: outcome.value.toXDR('base64') },
    ],
    stateChanges: stateChanges(invoked, request.state),
    ...(deps.protocolVersion < MEMORY_STATE_PROTOCOL && invoked.storage.restored().length > 0
      ? { restorePreamble: preambleOf(deps, invoked, request.state) }
      : {}),
  };
}

function authModeOf(
  name: string,
  operation: xdr.InvokeHostFunctionOp,
  newNonce: () => bigint,
): AuthMode | string {
  const entries = operation.auth();
  if (entries.length > 0 && name.startsWith('record')) {
    return `cannot set authMode to '${name}' with an auth footprint`;
  }
  if (name === 'enforce' || (name === '' && entries.length > 0)) return { kind: 'enforce', entries };
  return { kind: 'record', allowsNonRoot: name === 'record_allow_nonroot', newNonce };
}

/** Up to 22 what was touched; from 23 on, what has to be restored is written to, and named. */
function needsOf(
  deps: SimulationDeps,
  invoked: Invoked,
  state: EntryReader,
  operation: xdr.InvokeHostFunctionOp,
  auth: xdr.SorobanAuthorizationEntry[],
): xdr.SorobanTransactionData {
  const { readOnly, readWrite } = invoked.storage.touched();
  const isAutomatic = deps.protocolVersion >= MEMORY_STATE_PROTOCOL;
  const restored = isAutomatic ? invoked.storage.restored().filter((id) => state.get(id)) : [];
  const isRestored = (key: xdr.LedgerKey) => restored.includes(idOf(key));
  const footprint = {
    readOnly: readOnly.filter((key) => !isRestored(key)),
    readWrite: [...readWrite, ...readOnly.filter(isRestored)],
  };
  const signable = new xdr.InvokeHostFunctionOp({ hostFunction: operation.hostFunction(), auth });
  return estimate(
    {
      footprint,
      used: invoked.used,
      restoredIndexes: footprint.readWrite.flatMap((key, index) => (isRestored(key) ? [index] : [])),
      operation: xdr.OperationBody.invokeHostFunction(signable),
      refundable: refundableFee(invoked.eventBytes, invoked.rentedBytes),
    },
    deps.protocolVersion,
  );
}

function preambleOf(
  deps: SimulationDeps,
  invoked: Invoked,
  state: EntryReader,
): { minResourceFee: string; transactionData: string } {
  return restoreNeeds(
    deps,
    invoked.storage.restored().flatMap((id) => state.get(id) ?? []),
  );
}

function restoreNeeds(
  deps: SimulationDeps,
  entries: StoredEntry[],
): { minResourceFee: string; transactionData: string } {
  const bytes = bytesOf(entries);
  const data = estimate(
    {
      footprint: { readOnly: [], readWrite: entries.map((entry) => entry.key) },
      used: { instructions: 0, readBytes: bytes, writeBytes: bytes },
      restoredIndexes: [],
      operation: xdr.OperationBody.restoreFootprint(
        new xdr.RestoreFootprintOp({ ext: new xdr.ExtensionPoint(0) }),
      ),
      refundable: refundableFee(0, bytes),
    },
    deps.protocolVersion,
  );
  return { minResourceFee: String(data.resourceFee().toBigInt()), transactionData: data.toXDR('base64') };
}

/** Of the given footprint, what really has to be restored or extended. */
function simulateFootprint(
  deps: SimulationDeps,
  request: SimulationRequest,
  operation: xdr.OperationBody,
): Answer {
  const given = request.transaction.sorobanData;
  if (!given) {
    return {
      error:
        'To perform a SimulateTransaction for ExtendFootprintTtl or RestoreFootprint operations,' +
        ' SorobanTransactionData must be provided',
    };
  }
  const footprint = given.resources().footprint();
  const { sequence } = request.ledger;
  if (operation.switch().name === 'restoreFootprint') {
    const found = footprint.readWrite().flatMap((key) => request.state.get(idOf(key)) ?? []);
    const archived = found.filter((entry) => isExpired(entry, sequence) && !isTemporary(entry.key));
    return { ...restoreNeeds(deps, archived), events: [], results: [] };
  }
  const found = footprint.readOnly().flatMap((key) => request.state.get(idOf(key)) ?? []);
  const data = estimate(
    {
      footprint: { readOnly: found.map((entry) => entry.key), readWrite: [] },
      used: { instructions: 0, readBytes: bytesOf(found), writeBytes: 0 },
      restoredIndexes: [],
      operation,
      refundable: refundableFee(0, bytesOf(found)),
    },
    deps.protocolVersion,
  );
  const minResourceFee = String(data.resourceFee().toBigInt());
  return { transactionData: data.toXDR('base64'), minResourceFee, events: [], results: [] };
}

function bytesOf(entries: StoredEntry[]): number {
  return entries.reduce((total, entry) => total + sizeOf(entry), 0);
}

function stateChanges(invoked: Invoked, state: EntryReader): Answer['stateChanges'] {
  return [...invoked.storage.changes()].map(([id, after]) => {
    const before = state.get(id);
    return {
      type: before ? (after ? 'updated' : 'deleted') : 'created',
      key: id,
      before: before ? ledgerEntry(before).toXDR('base64') : null,
      after: after ? ledgerEntry(after).toXDR('base64') : null,
    };
  });
}

export function ledgerEntry(entry: StoredEntry): xdr.LedgerEntry {
  return new xdr.LedgerEntry({
    lastModifiedLedgerSeq: entry.lastModified,
    data: entry.data,
    ext: new xdr.LedgerEntryExt(0),
  });
}
