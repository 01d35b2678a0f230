/**
 * Batches of the audit log's rows: what arrives during a write goes into the next one.
 */

const MAX_ROWS_PER_STATEMENT = 500;

export interface Batches<Item> {
  add(item: Item): void;
  drain(): Promise<void>;
}

/**
 * Writes added items, one batch at a time. `write` never rejects. Not lib/batches.ts: an outcome waits for no caller and is never
 * turned away, because what it records has happened; and a stop waits until all are written.
 */
export function createBatches<Item>(write: (batch: Item[]) => Promise<void>): Batches<Item> {
  let waiting: Item[] = [];
  let writing: Promise<void> | null = null;
  const writeAll = async () => {
    // Items that are added in one turn of the event loop form one batch.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_ROWS_PER_STATEMENT);
      waiting = waiting.slice(MAX_ROWS_PER_STATEMENT);
      await write(batch);
    }
    writing = null;
  };
  return {
    add(item: Item): void {
      waiting.push(item);
      writing ??= writeAll();
    },
    drain: async () => {
      await writing;
    },
  };
}
