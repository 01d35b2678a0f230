/**
 * Decodes a node's answers about transactions and simulations. A throw means that the answer is malformed.
 */
import { xdr } from '@stellar/stellar-sdk';
import type * as z from 'zod';
import { readMeta } from './landedMeta.ts';
import type { LandedMeta } from './landedMeta.ts';
import type { simulationAnswer, transactionAnswer } from './nodeAnswers.ts';

/** The node's latest closed ledger, and the oldest that it keeps. */
export interface LedgerState {
  latestLedger: bigint;
  closedAt: bigint;
  oldestLedger: bigint;
}

export type TransactionAnswer = LedgerState & (MissingTransaction | LandedTransaction);

interface MissingTransaction {
  status: 'NOT_FOUND';
}

export interface LandedTransaction {
  status: 'SUCCESS' | 'FAILED';
  ledger: bigint;
  envelope: xdr.TransactionEnvelope;
  result: xdr.TransactionResult;
  meta: LandedMeta;
  diagnosticEvents: xdr.DiagnosticEvent[];
}

export type Simulation =
  | { status: 'failed'; latestLedger: bigint; error: string; events: xdr.DiagnosticEvent[] }
  | {
      status: 'succeeded';
      latestLedger: bigint;
      returnValue: xdr.ScVal;
      auth: xdr.SorobanAuthorizationEntry[];
      resources: Resources;
    };

export interface Resources {
  data: xdr.SorobanTransactionData;
  feeStroops: bigint;
  /**
   * Whether archived entries are restored with them: restoring a contract's code may cost many times as much
   * as any call.
   */
  restores: boolean;
}

export function stateOf(raw: z.output<typeof transactionAnswer>): LedgerState {
  return {
    latestLedger: raw.latestLedger,
    closedAt: raw.latestLedgerCloseTime,
    oldestLedger: raw.oldestLedger,
  };
}

export function landedOf(raw: z.output<typeof transactionAnswer>): MissingTransaction | LandedTransaction {
  if (raw.status === 'NOT_FOUND') return { status: 'NOT_FOUND' };
  const { ledger, envelopeXdr, resultXdr, resultMetaXdr } = raw;
  if (ledger === null || !envelopeXdr || !resultXdr) {
    throw new Error(`a transaction that is ${raw.status} lacks its ledger, envelope or result`);
  }
  const meta = readMeta(resultMetaXdr);
  const events = (raw.events?.contractEventsXdr ?? [])
    .flat()
    .map((event) => xdr.ContractEvent.fromXDR(event, 'base64'));
  const given = raw.diagnosticEventsXdr.map((event) => xdr.DiagnosticEvent.fromXDR(event, 'base64'));
  return {
    status: raw.status,
    ledger,
    envelope: xdr.TransactionEnvelope.fromXDR(envelopeXdr, 'base64'),
    result: xdr.TransactionResult.fromXDR(resultXdr, 'base64'),
    meta: events.length > 0 ? { ...meta, events } : meta,
    // Nodes put diagnostic events beside the meta, within it, or leave them out.
    diagnosticEvents: given.length > 0 ? given : meta.diagnosticEvents,
  };
}

export function simulationOf(raw: z.output<typeof simulationAnswer>): Simulation {
  const { latestLedger } = raw;
  if (raw.error !== null) {
    const events = raw.events.map((event) => xdr.DiagnosticEvent.fromXDR(event, 'base64'));
    return { status: 'failed', latestLedger, error: raw.error, events };
  }
  const [result] = raw.results;
  if (!result || raw.transactionData === null || raw.minResourceFee === null) {
    throw new Error('a simulation that succeeded lacks its result, resources or fee');
  }
  return {
    status: 'succeeded',
    latestLedger,
    returnValue: xdr.ScVal.fromXDR(result.xdr, 'base64'),
    auth: result.auth.map((entry) => xdr.SorobanAuthorizationEntry.fromXDR(entry, 'base64')),
    resources: resourcesOf(raw.transactionData, raw.minResourceFee),
  };
}

function resourcesOf(dataXdr: string, minResourceFee: bigint): Resources {
  const data = xdr.SorobanTransactionData.fromXDR(dataXdr, 'base64');
  const declared = BigInt(data.resourceFee().toString());
  return {
    data,
    feeStroops: declared > minResourceFee ? declared : minResourceFee,
    restores: restores(data),
  };
}

/** True if the call restores archived entries, which its resources name. */
function restores(data: xdr.SorobanTransactionData): boolean {
  const ext = data.ext();
  return ext.switch() === 1 && ext.resourceExt().archivedSorobanEntries().length > 0;
}

/** For display only, so an unreadable result gets a text too. */
export function errorCodeOf(resultXdr: string): string {
  try {
    return xdr.TransactionResult.fromXDR(resultXdr, 'base64').result().switch().name;
  } catch {
    return 'an unreadable result';
  }
}
