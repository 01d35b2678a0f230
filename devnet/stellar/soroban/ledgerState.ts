/**
 * The entries of the ledger, with the changes of the last ledgers kept, so that a node that lags behind can
 * answer from them.
 */
import type { xdr } from '@stellar/stellar-sdk';
import type { EntryId } from './ledgerKeys.ts';

export interface StoredEntry {
  readonly key: xdr.LedgerKey;
  readonly data: xdr.LedgerEntryData;
  readonly lastModified: number;
  /** The last ledger that the entry lives in; null for what has no time to live. */
  readonly liveUntil: number | null;
}

export interface EntryReader {
  get(id: EntryId): StoredEntry | null;
}

/** `null` deletes. */
export type EntryChanges = ReadonlyMap<EntryId, StoredEntry | null>;

export interface Overlay extends EntryReader {
  put(id: EntryId, entry: StoredEntry | null): void;
  /** Takes over what was changed on top of this overlay. */
  merge(changes: EntryChanges): void;
  changes(): EntryChanges;
}

export interface LedgerState extends EntryReader {
  /** Makes the changes of one ledger. */
  commit(ledger: number, changes: EntryChanges): void;
  /** The state as it was when `ledger` had closed; at most MAX_LAG ledgers ago. */
  asOf(ledger: number): EntryReader;
}

/** How many ledgers a stale node can lag behind. */
export const MAX_LAG = 200;

export function createLedgerState(): LedgerState {
  const entries = new Map<EntryId, StoredEntry>();
  const past: { ledger: number; before: Map<EntryId, StoredEntry | null> }[] = [];

  return {
    get: (id) => entries.get(id) ?? null,
    commit(ledger, changes) {
      const before = new Map<EntryId, StoredEntry | null>();
      for (const [id, entry] of changes) {
        before.set(id, entries.get(id) ?? null);
        if (entry) entries.set(id, entry);
        else entries.delete(id);
      }
      past.push({ ledger, before });
      if (past.length > MAX_LAG) past.shift();
    },
    asOf(ledger) {
      return {
        get(id) {
          const changed = past.find((step) => step.ledger > ledger && step.before.has(id));
          return changed ? (changed.before.get(id) ?? null) : (entries.get(id) ?? null);
        },
      };
    },
  };
}

export function createOverlay(below: EntryReader): Overlay {
  const changed = new Map<EntryId, StoredEntry | null>();
  return {
    get: (id) => (changed.has(id) ? (changed.get(id) ?? null) : below.get(id)),
    put: (id, entry) => void changed.set(id, entry),
    merge(changes) {
      for (const [id, entry] of changes) changed.set(id, entry);
    },
    changes: () => changed,
  };
}
