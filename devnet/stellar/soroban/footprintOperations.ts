/**
 * The two operations on a footprint alone: restoring what was archived, and giving entries more time.
 */
import type { OpenedTransaction } from './envelopes.ts';
import { hasTimeToLive, idOf, isTemporary } from './ledgerKeys.ts';
import type { EntryReader, Overlay } from './ledgerState.ts';
import { extended, restored } from './results.ts';
import type { OperationOutcome } from './results.ts';
import { isExpired } from './storage.ts';

export function restoreEntries(
  transaction: OpenedTransaction,
  { ledger, ttl }: { ledger: number; ttl: number },
  work: Overlay,
): OperationOutcome {
  for (const [id, entry] of footprintEntries(transaction, 'readWrite', work)) {
    if (!isExpired(entry, ledger) || isTemporary(entry.key)) continue;
    const liveUntil = ledger + ttl;
    work.put(id, { ...entry, lastModified: ledger, liveUntil });
  }
  return restored();
}

export function extendEntries(
  transaction: OpenedTransaction,
  extendTo: number,
  ledger: number,
  work: Overlay,
): OperationOutcome {
  for (const [id, entry] of footprintEntries(transaction, 'readOnly', work)) {
    if (isExpired(entry, ledger) || !hasTimeToLive(entry.key)) continue;
    const liveUntil = Math.max(entry.liveUntil ?? 0, ledger + extendTo);
    work.put(id, { ...entry, liveUntil });
  }
  return extended();
}

function footprintEntries(
  transaction: OpenedTransaction,
  part: 'readOnly' | 'readWrite',
  state: EntryReader,
) {
  const keys = transaction.sorobanData?.resources().footprint()[part]() ?? [];
  return keys.flatMap((key) => {
    const entry = state.get(idOf(key));
    return entry ? [[idOf(key), entry] as const] : [];
  });
}
