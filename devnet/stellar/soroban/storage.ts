/**
 * What one invocation sees of the ledger: only its footprint when it lands, everything (and takes notes of it)
 * when it is simulated. Nothing reaches the ledger before the invocation has succeeded.
 */
import { xdr } from '@stellar/stellar-sdk';
import { hostFailure } from './hostErrors.ts';
import { hasTimeToLive, idOf, isTemporary, kindOfKey } from './ledgerKeys.ts';
import type { EntryId } from './ledgerKeys.ts';
import { createOverlay } from './ledgerState.ts';
import type { EntryChanges, EntryReader, StoredEntry } from './ledgerState.ts';

const DAY_IN_LEDGERS = 17_280;

export interface Footprint {
  readOnly: readonly xdr.LedgerKey[];
  readWrite: readonly xdr.LedgerKey[];
}

export interface HostStorage {
  get(key: xdr.LedgerKey): xdr.LedgerEntryData | null;
  /** @param ttl how many ledgers the entry is to live from now on, at least */
  put(key: xdr.LedgerKey, data: xdr.LedgerEntryData, ttl: number): void;
  changes(): EntryChanges;
  /** What was touched, in the order of the first touch. */
  touched(): Footprint;
  /** Archived entries that were used as if they lived. */
  restored(): readonly EntryId[];
}

interface StorageOptions {
  below: EntryReader;
  ledger: number;
  /** Null records instead of enforcing. */
  footprint: Footprint | null;
  /** Archived entries of the footprint that the transaction itself restores. */
  restoring: ReadonlySet<EntryId>;
  /** Ledgers that a restored entry lives. */
  restoredTtl: number;
}

export function isExpired(entry: StoredEntry, ledger: number): boolean {
  return entry.liveUntil !== null && entry.liveUntil < ledger;
}

export function createStorage(options: StorageOptions): HostStorage {
  const { ledger, footprint } = options;
  const overlay = createOverlay(options.below);
  const touched = new Map<EntryId, { key: xdr.LedgerKey; isWritten: boolean }>();
  const restored = new Set<EntryId>();
  const readable = new Set([...(footprint?.readOnly ?? []), ...(footprint?.readWrite ?? [])].map(idOf));
  const writable = new Set((footprint?.readWrite ?? []).map(idOf));

  function touch(key: xdr.LedgerKey, isWritten: boolean): EntryId {
    const id = idOf(key);
    if (footprint && !(isWritten ? writable : readable).has(id)) throw outsideOfFootprint(key);
    const known = touched.get(id);
    if (known) known.isWritten ||= isWritten;
    else touched.set(id, { key, isWritten });
    return id;
  }

  function live(id: EntryId): StoredEntry | null {
    const entry = overlay.get(id);
    if (!entry || !isExpired(entry, ledger)) return entry;
    if (isTemporary(entry.key)) return null;
    // Simulation goes on as if the entry had been restored, and says so; on landing it was checked before.
    if (footprint && !options.restoring.has(id)) return null;
    restored.add(id);
    return entry;
  }

  return {
    get: (key) => live(touch(key, false))?.data ?? null,
    put(key, data, ttl) {
      const id = touch(key, true);
      const liveUntil = hasTimeToLive(key) ? extended(live(id)?.liveUntil ?? null, ledger, ttl) : null;
      overlay.put(id, { key, data, lastModified: ledger, liveUntil });
    },
    changes() {
      for (const id of restored) {
        const entry = overlay.get(id);
        if (!entry || !isExpired(entry, ledger)) continue;
        overlay.put(id, { ...entry, lastModified: ledger, liveUntil: ledger + options.restoredTtl });
      }
      return overlay.changes();
    },
    touched() {
      const all = [...touched.values()];
      return {
        readOnly: all.filter(({ isWritten }) => !isWritten).map(({ key }) => key),
        readWrite: all.filter(({ isWritten }) => isWritten).map(({ key }) => key),
      };
    },
    restored: () => [...restored],
  };
}

/** Contracts extend what they write, but leave it when that would add less than a day. */
function extended(liveUntil: number | null, ledger: number, ttl: number): number {
  const isLongEnough = liveUntil !== null && liveUntil - ledger >= Math.max(0, ttl - DAY_IN_LEDGERS);
  return isLongEnough ? liveUntil : ledger + ttl;
}

function outsideOfFootprint(key: xdr.LedgerKey): Error {
  const details =
    key.switch().name === 'contractData'
      ? [xdr.ScVal.scvAddress(key.contractData().contract()), key.contractData().key()]
      : [];
  const message = `trying to access ${kindOfKey(key)} outside of the footprint`;
  return hostFailure('Storage', 'ExceededLimit', message, details);
}
