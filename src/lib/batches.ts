/**
 * Batches work: items that arrive while a batch is under way go into the next one, so one commit serves many items.
 */

export interface Batcher<T, R> {
  /** The item's own result. Rejects with its batch's error, or when too many items wait. */
  submit(item: T): Promise<R>;
}

export interface BatcherOptions<T, R> {
  /** Items in one batch, at most. */
  maxItems: number;
  /** Items that may wait for their batch; further ones are rejected. */
  maxWaiting: number;
  /** Called with one batch at a time; returns one result each, in order. */
  run: (items: T[]) => Promise<R[]>;
  /**
   * True of an error that a single item may have caused: the batch is then divided, until that item stands alone and
   * the others are done. Left out, every error is that of the whole batch.
   */
  dividesOn?: (error: unknown) => boolean;
}

interface Waiting<T, R> {
  item: T;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

export function createBatcher<T, R>(options: BatcherOptions<T, R>): Batcher<T, R> {
  const waiting: Waiting<T, R>[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    while (waiting.length > 0) await runOne(waiting.splice(0, options.maxItems));
    isRunning = false;
  }

  async function runOne(batch: Waiting<T, R>[]): Promise<void> {
    try {
      const results = await options.run(batch.map((entry) => entry.item));
      if (results.length !== batch.length) {
        throw new Error(`A batch of ${batch.length} items got ${results.length} results`);
      }
      results.forEach((result, at) => batch[at]?.resolve(result));
    } catch (error) {
      if (batch.length > 1 && options.dividesOn?.(error)) {
        const half = Math.ceil(batch.length / 2);
        await runOne(batch.slice(0, half));
        await runOne(batch.slice(half));
      } else for (const entry of batch) entry.reject(error);
    }
  }

  return {
    submit(item) {
      if (waiting.length >= options.maxWaiting) {
        return Promise.reject(new Error(`${waiting.length} items wait already`));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (isRunning) return;
        isRunning = true;
        // What arrives in the same turn of the event loop shares the first batch.
        setImmediate(() => void runAll());
      });
    },
  };
}
