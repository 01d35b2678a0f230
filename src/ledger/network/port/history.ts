/**
 * The final part of the network's history, and whether it is still final.
 */
import type { UnixSeconds } from './units.ts';

export interface NetworkStatus {
  /** The latest closed (and final) ledger. */
  ledger: bigint;
  closedAt: UnixSeconds;
  /** The oldest ledger whose transactions can still be looked up. */
  oldestLedger: bigint;
}

/** A final ledger: its number, and its hash on networks whose ledgers have one. */
export interface FinalLedger {
  ledger: bigint;
  hash: string | null;
  /** Present if a copy of the database is recognised by this time (seenLedgers.ts). */
  closedAt?: UnixSeconds;
}

/** Whether the network still has the history that this platform has seen as final. */
export type Continuity =
  | { status: 'whole' }
  /** A final ledger is gone: other ledgers have the same numbers now. */
  | { status: 'rewritten'; message: string };
