/**
 * Batches work: items that arrive while a batch is under way go into the next one, so they share one commit.
 */

export interface Batcher<T, R> {
  /** Returns the item's own result. Rejects with its batch's error, or when the queue or wait is too long. */
  submit(item: T): Promise<R>;
}

interface BatcherOptions<T, R> {
  /** Maximum items in one batch. */
  maxItems: number;
  /** Maximum items that wait for their batch; further ones are rejected. */
  maxWaiting?: number;
  /** An item that has waited longer when a batch is taken is rejected. By default a wait has no limit. */
  maxWaitMs?: number;
  /** Makes the error of an item that was rejected before its batch, from the number of waiting items. */
  overloaded?: (waiting: number) => Error;
  /** Items of one key never share a batch: the later one's result depends on the earlier one's. */
  keyOf?: (item: T) => string;
  /**
   * With at least this many waiting items, a batch takes half of the waiting items and the last batch
   * together, and the next batch begins before the results of the last one are given. So the work on one
   * batch and the use of the other's results overlap; as one batch, each would wait for the other, even after
   * a pause. By default all waiting items are one batch, and results are given at once.
   */
  halvesFrom?: number;
  /** Called with one batch at a time; returns one result each, in order. */
  run: (items: T[]) => Promise<R[]>;
  /**
   * Whether a single item may have caused the error: the batch is then divided, until that item is alone and
   * the others are done. By default every error is that of the whole batch.
   */
  dividesOn?: (error: unknown) => boolean;
}

interface Waiting<T, R> {
  item: T;
  key: string | undefined;
  /** By `performance.now()`. */
  since: number;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

/** A guard against a defect: far fewer items are under way at once. */
const MAX_WAITING = 10_000;

/** The first batch begins at the end of the turn of the event loop in which its first item arrived. */
export function createBatcher<T, R>(options: BatcherOptions<T, R>): Batcher<T, R> {
  const { maxItems, maxWaiting = MAX_WAITING, maxWaitMs = Infinity, halvesFrom = Infinity } = options;
  const overloaded = options.overloaded ?? ((count) => new Error(`${count} items wait already`));
  let waiting: Waiting<T, R>[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    let before = 0;
    while (waiting.length > 0) {
      const half = Math.ceil((waiting.length + before) / 2);
      const batch = takeBatch(waiting.length < halvesFrom ? maxItems : half);
      before = batch.length;
      await runOne(batch);
    }
    isRunning = false;
  }

  function takeBatch(limit: number): Waiting<T, R>[] {
    const batch: Waiting<T, R>[] = [];
    const keys = new Set<string>();
    const later: Waiting<T, R>[] = [];
    const count = waiting.length;
    const oldest = performance.now() - maxWaitMs;
    for (const entry of waiting) {
      const { key, since } = entry;
      if (since < oldest) entry.reject(overloaded(count));
      else if (batch.length >= Math.min(limit, maxItems) || (key !== undefined && keys.has(key)))
        later.push(entry);
      else {
        batch.push(entry);
        if (key !== undefined) keys.add(key);
      }
    }
    waiting = later;
    return batch;
  }

  /** Never rejects. The batch is empty when all waiting items have waited too long. */
  async function runOne(batch: Waiting<T, R>[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      const results = await options.run(batch.map((entry) => entry.item));
      if (results.length !== batch.length) {
        throw new Error(`A batch of ${batch.length} items got ${results.length} results`);
      }
      const give = () => results.forEach((result, at) => batch[at]?.resolve(result));
      if (halvesFrom < Infinity && waiting.length > 0) setImmediate(give);
      else give();
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
      if (waiting.length >= maxWaiting) return Promise.reject(overloaded(waiting.length));
      return new Promise((resolve, reject) => {
        waiting.push({ item, key: options.keyOf?.(item), since: performance.now(), resolve, reject });
        if (isRunning) return;
        isRunning = true;
        // Items that arrive in the same turn of the event loop share the first batch.
        setImmediate(() => void runAll());
      });
    },
  };
}
