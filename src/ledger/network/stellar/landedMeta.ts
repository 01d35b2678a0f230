/**
 * Reads a landed transaction's return value, events and changes, whose places differ between protocol
 * versions.
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
 * Empty if the meta is missing, or of a later protocol than the SDK knows. The transaction has landed all the
 * same, and results.ts has other sources for its result.
 */
export function readMeta(metaXdr: string | null): LandedMeta {
  const meta = metaXdr === null ? null : decoded(metaXdr);
  if (meta === null) return NOTHING;
  const version = meta.switch();
  if (version === 3) {
    const soroban = meta.v3().sorobanMeta();
    return {
      returnValue: soroban?.returnValue() ?? null,
      events: soroban?.events() ?? [],
      changes: meta
        .v3()
        .operations()
        .flatMap((operation) => operation.changes()),
      diagnosticEvents: soroban?.diagnosticEvents() ?? [],
    };
  }
  if (version === 4) {
    const operations = meta.v4().operations();
    return {
      returnValue: meta.v4().sorobanMeta()?.returnValue() ?? null,
      events: operations.flatMap((operation) => operation.events()),
      changes: operations.flatMap((operation) => operation.changes()),
      diagnosticEvents: meta.v4().diagnosticEvents(),
    };
  }
  return NOTHING;
}

function decoded(metaXdr: string): xdr.TransactionMeta | null {
  try {
    return xdr.TransactionMeta.fromXDR(metaXdr, 'base64');
  } catch {
    return null;
  }
}
