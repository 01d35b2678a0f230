/**
 * What a landed transaction returned, told and changed: the same facts, which protocols keep in different places.
 */
import type { xdr } from '@stellar/stellar-sdk';

export interface LandedMeta {
  returnValue: xdr.ScVal | null;
  events: xdr.ContractEvent[];
  changes: xdr.LedgerEntryChange[];
  diagnosticEvents: xdr.DiagnosticEvent[];
}

const NOTHING: LandedMeta = { returnValue: null, events: [], changes: [], diagnosticEvents: [] };

/** Nothing for kinds of meta that no contract's transaction has. */
export function readMeta(meta: xdr.TransactionMeta): LandedMeta {
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
