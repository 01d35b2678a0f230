/**
 * `simulateTransaction`: runs a transaction's one operation on the latest ledger and says what it needs.
 */
import { xdr } from '@stellar/stellar-sdk';
import type { AuthMode } from './authorization.ts';
import type { OpenedTransaction } from './envelopes.ts';
import { operationSource } from './envelopes.ts';
import { declaredResources, nonRefundableFee, refundableFee } from './fees.ts';
import type { Resources } from './fees.ts';
import { errorText } from './hostErrors.ts';
import type { LedgerInfo } from './host.ts';
import { invoke, sizeOf } from './invocations.ts';
import type { InvocationDeps, Invoked } from './invocations.ts';
import { idOf, isTemporary } from './ledgerKeys.ts';
import type { EntryReader, StoredEntry } from './ledgerState.ts';
import { isExpired } from './storage.ts';
import type { Footprint } from './storage.ts';

export interface SimulationDeps extends InvocationDeps {
  /** Archived entries: told apart in a preamble up to 22, restored by the transaction itself from 23 on. */
  protocolVersion: number;
  newNonce: () => bigint;
}

export interface SimulationRequest {
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

const NO_RESOURCES: Resources = {
  instructions: 0,
  readBytes: 0,
  writeBytes: 0,
  readEntries: 0,
  writeEntries: 0,
};

export function simulate(deps: SimulationDeps, request: SimulationRequest): Answer {
  const { transaction } = request;
  const [operation, ...others] = transaction.operations;
  if (!operation || others.length > 0) return { error: 'Transaction contains more than one operation' };
  if (transaction.hasMemo) {
    return { error: 'Transaction contains a memo. Soroban transactions do not support memos.' };
  }
  const body = operation.body();
  switch (body.switch().name) {
    case 'invokeHostFunction': {
      const source = operationSource(operation, transaction.source);
      return simulateInvocation(deps, request, body.invokeHostFunctionOp(), source);
    }
    case 'extendFootprintTtl':
    case 'restoreFootprint':
      return simulateFootprint(request, body.switch().name === 'restoreFootprint');
    default:
      return { error: `Transaction contains unsupported operation type: ${body.switch().name}` };
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
  const touched = withRestored(invoked, request.state);
  const needs = transactionDataOf(deps, invoked, touched, request.transaction.bytes);
  return {
    events,
    transactionData: needs.toXDR('base64'),
    minResourceFee: String(needs.resourceFee().toBigInt()),
    results: [
      { auth: outcome.auth.map((entry) => entry.toXDR('base64')), xdr: outcome.value.toXDR('base64') },
    ],
    stateChanges: stateChanges(invoked, request.state),
    ...(deps.protocolVersion < 23 && invoked.storage.restored().length > 0
      ? { restorePreamble: preambleOf(invoked, request.state) }
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

/** What has to be restored is written to. */
function withRestored(invoked: Invoked, state: EntryReader): Footprint {
  const { readOnly, readWrite } = invoked.storage.touched();
  const restored = new Set(invoked.storage.restored());
  const written = readOnly.filter((key) => restored.has(idOf(key)) && state.get(idOf(key)));
  return {
    readOnly: readOnly.filter((key) => !written.includes(key)),
    readWrite: [...readWrite, ...written],
  };
}

function transactionDataOf(
  deps: SimulationDeps,
  invoked: Invoked,
  automatic: Footprint,
  transactionBytes: number,
): xdr.SorobanTransactionData {
  const restores = deps.protocolVersion >= 23 && invoked.storage.restored().length > 0;
  const footprint = restores ? automatic : invoked.storage.touched();
  const ids = footprint.readWrite.map(idOf);
  const resources = {
    ...invoked.used,
    instructions: Math.max(Math.ceil(invoked.used.instructions * 1.04), invoked.used.instructions + 50_000),
    readEntries: footprint.readOnly.length + footprint.readWrite.length,
    writeEntries: footprint.readWrite.length,
  };
  const refundable = refundableFee(invoked.eventBytes, invoked.rentedBytes);
  return sorobanData(
    footprint,
    resources,
    feeFor(resources, transactionBytes, refundable),
    restores ? invoked.storage.restored().map((id) => ids.indexOf(id)) : [],
  );
}

function preambleOf(
  invoked: Invoked,
  state: EntryReader,
): { minResourceFee: string; transactionData: string } {
  const entries = invoked.storage.restored().flatMap((id) => state.get(id) ?? []);
  return restoreData(entries);
}

function restoreData(entries: StoredEntry[]): { minResourceFee: string; transactionData: string } {
  const bytes = entries.reduce((total, entry) => total + sizeOf(entry), 0);
  const resources = {
    ...NO_RESOURCES,
    readBytes: bytes,
    writeBytes: bytes,
    readEntries: entries.length,
    writeEntries: entries.length,
  };
  const fee = feeFor(resources, 1_000, refundableFee(0, bytes));
  const footprint = { readOnly: [], readWrite: entries.map((entry) => entry.key) };
  const data = sorobanData(footprint, resources, fee, []);
  return { minResourceFee: String(fee), transactionData: data.toXDR('base64') };
}

/** Of the given footprint, what really has to be restored or extended. */
function simulateFootprint(request: SimulationRequest, isRestore: boolean): Answer {
  const given = request.transaction.sorobanData;
  if (!given) {
    return {
      error:
        'To perform a SimulateTransaction for ExtendFootprintTtl or RestoreFootprint operations,' +
        ' SorobanTransactionData must be provided',
    };
  }
  const footprint = given.resources().footprint();
  if (isRestore) {
    const found = footprint.readWrite().flatMap((key) => request.state.get(idOf(key)) ?? []);
    const archived = found.filter(
      (entry) => isExpired(entry, request.ledger.sequence) && !isTemporary(entry.key),
    );
    return { ...restoreData(archived), events: [], results: [] };
  }
  const found = footprint.readOnly().flatMap((key) => request.state.get(idOf(key)) ?? []);
  const bytes = found.reduce((total, entry) => total + sizeOf(entry), 0);
  const resources = { ...NO_RESOURCES, readBytes: bytes, readEntries: found.length };
  const fee = feeFor(resources, request.transaction.bytes, refundableFee(0, bytes));
  const keys = found.map((entry) => entry.key);
  const data = sorobanData({ readOnly: keys, readWrite: [] }, resources, fee, []);
  return { transactionData: data.toXDR('base64'), minResourceFee: String(fee), events: [], results: [] };
}

/** With the room that a node leaves for signatures, and for what may cost more by then. */
function feeFor(resources: Resources, transactionBytes: number, refundable: bigint): bigint {
  const bytes =
    Math.max(Math.ceil(transactionBytes * 1.1), transactionBytes + 500) + signedDataBytes(resources);
  return nonRefundableFee(resources, bytes) + (refundable * 115n) / 100n + 1n;
}

/** What the footprint and the authorisation add to the bytes of the transaction that was simulated. */
function signedDataBytes(resources: Resources): number {
  return 150 * resources.readEntries + 600;
}

function sorobanData(
  footprint: Footprint,
  resources: Resources,
  fee: bigint,
  restoredIndexes: number[],
): xdr.SorobanTransactionData {
  const ext =
    restoredIndexes.length === 0
      ? new xdr.SorobanTransactionDataExt(0)
      : new xdr.SorobanTransactionDataExt(
          1,
          new xdr.SorobanResourcesExtV0({
            archivedSorobanEntries: restoredIndexes.toSorted((a, b) => a - b),
          }),
        );
  const data = new xdr.SorobanTransactionData({
    ext,
    resources: new xdr.SorobanResources({
      footprint: new xdr.LedgerFootprint({
        readOnly: [...footprint.readOnly],
        readWrite: [...footprint.readWrite],
      }),
      instructions: resources.instructions,
      diskReadBytes: resources.readBytes,
      writeBytes: resources.writeBytes,
    }),
    resourceFee: new xdr.Int64(fee),
  });
  if (declaredResources(data).readEntries !== resources.readEntries)
    throw new Error('Keys were counted twice');
  return data;
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
