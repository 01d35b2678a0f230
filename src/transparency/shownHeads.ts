/**
 * The largest head of each log that this process has signed, seen or served, by the log's name. A database
 * that lost its newest commits, by a failover to a standby that had not received them, has an earlier head:
 * the next signed head would contradict those that readers have. Processes outlive a failover, so their
 * memory is enough; a restored backup has a step of its own (docs/operations.md).
 */
import { parseCheckpoint, type Checkpoint } from './checkpoint.ts';

export interface ShownHeads {
  /** Notes the checkpoint of a committed head. */
  note(checkpoint: string): void;
  /**
   * Returns the contradiction of a head; null when it may grow in that name. The head must be locked, so that
   * no newer one exists.
   */
  contradictionOf(origin: string, head: { size: number; root: Uint8Array }): string | null;
}

export function createShownHeads(): ShownHeads {
  /** There are few names, because only an operator renames a log. */
  const largest = new Map<string, Checkpoint>();
  return {
    note(checkpoint) {
      const head = parseCheckpoint(checkpoint);
      if (head === null) return;
      const known = largest.get(head.origin);
      if (known === undefined || head.size > known.size) largest.set(head.origin, head);
    },
    contradictionOf(origin, { size, root }) {
      const known = largest.get(origin);
      if (known === undefined || size > known.size) return null;
      if (size < known.size) return `has ${size} leaves, and a head of ${known.size} was signed before`;
      return known.root.equals(root) ? null : `has another root than was signed before for ${size} leaves`;
    },
  };
}
