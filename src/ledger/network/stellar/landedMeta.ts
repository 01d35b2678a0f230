/**
 * Reads a landed transaction's return value, events and changes.
 */
import { xdr } from '@stellar/stellar-sdk';

export interface LandedMeta {
  returnValue: xdr.ScVal | null;
  events: xdr.ContractEvent[];
  changes: xdr.LedgerEntryChange[];
  diagnosticEvents: xdr.DiagnosticEvent[];
}

const NOTHING: LandedMeta = { returnValue: null, events: [], changes: [], diagnosticEvents: [] };

/**
 * Empty if the meta is missing, or in another form than the fourth. The transaction has landed all the
 * same, and results.ts has other sources for its result.
 */
export function readMeta(metaXdr: string | null): LandedMeta {
  const meta = metaXdr === null ? null : decoded(metaXdr);
  if (meta?.switch() !== 4) return NOTHING;
  const operations = meta.v4().operations();
  return {
    returnValue: meta.v4().sorobanMeta()?.returnValue() ?? null,
    events: operations.flatMap((operation) => operation.events()),
    changes: operations.flatMap((operation) => operation.changes()),
    diagnosticEvents: meta.v4().diagnosticEvents(),
  };
}

function decoded(metaXdr: string): xdr.TransactionMeta | null {
  try {
    return xdr.TransactionMeta.fromXDR(metaXdr, 'base64');
  } catch {
    return null;
  }
}
