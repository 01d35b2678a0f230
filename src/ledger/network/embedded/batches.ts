/**
 * What arrives while a batch is under way goes into the next one: one commit then carries many items.
 */

export interface Batcher<T, R> {
  /** The item's own result. Rejects with what its batch failed with, or when too many items wait. */
  submit(item: T): Promise<R>;
}

interface Waiting<T, R> {
  item: T;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

/**
 * `run` gets at most `maxItems` items, one batch at a time, and answers one result each, in order.
 * @throws Error from `submit` when `maxWaiting` items wait already
 */
export function createBatcher<T, R>(options: {
  maxItems: number;
  maxWaiting: number;
  run: (items: T[]) => Promise<R[]>;
}): Batcher<T, R> {
  const waiting: Waiting<T, R>[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
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
      for (const entry of batch) entry.reject(error);
    }
  }

  return {
    submit(item) {
      if (waiting.length >= options.maxWaiting) {
        return Promise.reject(new Error(`${waiting.length} items wait already`));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (!isRunning) void runAll();
      });
    },
  };
}
