/**
 * What of the network's history is final, and whether it still is.
 */
import type { UnixSeconds } from './units.ts';

export interface NetworkStatus {
  /** The latest closed (and final) ledger. */
  ledger: bigint;
  closedAt: UnixSeconds;
  /** The oldest ledger whose transactions can still be looked up. */
  oldestLedger: bigint;
}

/** A final ledger, by its number and, where ledgers have one, by its hash. */
export interface FinalLedger {
  ledger: bigint;
  hash: string | null;
  /** Known where a copy of the database is recognised by it (seenLedgers.ts). */
  closedAt?: UnixSeconds;
}

/** Whether the network still has the history that this platform has seen as final. */
export type Continuity =
  | { status: 'whole' }
  /** What was final is gone: the same numbers are other ledgers now. */
  | { status: 'rewritten'; message: string };
