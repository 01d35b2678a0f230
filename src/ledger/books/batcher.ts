/**
 * Batches across requests: what arrives while one batch commits goes into the next, so that many share one round trip and
 * one fsync, and an account that all of them need is locked once.
 *
 *   waiting ──the batch before has ended──▶ committed together ──▶ each item's own answer
 *     │                                        ├─ no answer: sent again, once; the items' keys make that safe
 *     │                                        └─ refused as a whole: halved, until the item that breaks it stands alone
 *     └─ too many, or too long: OVERLOADED, and nothing was done
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { refusedByDatabase } from '../../db/refusedByDatabase.ts';
import { overloaded } from '../../lib/concurrencyLimit.ts';
import { DomainError } from '../../lib/errors.ts';

export interface BatcherOptions<Item, Answer> {
  /** Commits all of the items in one transaction, or nothing; answers in their order. */
  commit(items: readonly Item[], at: Date): Promise<Answer[]>;
  /** Two items of one key never share a batch: the second one's answer depends on the first one's. */
  keyOf(item: Item): string;
  now(): Date;
}

export interface Batcher<Item, Answer> {
  /** @throws DomainError OVERLOADED, and what `commit` throws for this item alone */
  add(item: Item): Promise<Answer>;
}

/**
 * Accounts stay locked while a batch is written, some 20 ms with this many; a larger one spreads the fsync no further and
 * makes the next one wait.
 */
export const MAX_ITEMS_PER_BATCH = 256;
/** Some seconds of work: what comes later would be answered after its client has given up. */
const MAX_WAITING = 10_000;
/** As long as for a connection (db/pool.ts). */
const MAX_WAIT_MS = 12_000;

interface Waiting<Item, Answer> {
  item: Item;
  key: string;
  /** By `performance.now()`. */
  since: number;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

export function createBatcher<Item, Answer>(options: BatcherOptions<Item, Answer>): Batcher<Item, Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    // What arrives in one turn of the event loop shares a batch.
    await nextTurn();
    while (waiting.length > 0) await settle(takeBatch(), options.now());
    isRunning = false;
  }

  function takeBatch(): Waiting<Item, Answer>[] {
    const batch = new Map<string, Waiting<Item, Answer>>();
    const later: Waiting<Item, Answer>[] = [];
    const tooOld = performance.now() - MAX_WAIT_MS;
    for (const one of waiting) {
      if (one.since < tooOld) one.reject(overloaded());
      else if (batch.size >= MAX_ITEMS_PER_BATCH || batch.has(one.key)) later.push(one);
      else batch.set(one.key, one);
    }
    waiting = later;
    return [...batch.values()];
  }

  /** Never rejects. */
  async function settle(batch: readonly Waiting<Item, Answer>[], at: Date): Promise<void> {
    if (batch.length === 0) return;
    try {
      const answers = await commit(
        batch.map(({ item }) => item),
        at,
      );
      for (const [i, one] of batch.entries()) one.resolve(answers[i] as Answer);
    } catch (error) {
      if (batch.length === 1 || !mayBeOfOneItem(error)) {
        for (const one of batch) one.reject(error);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await settle(batch.slice(0, middle), at);
      await settle(batch.slice(middle), at);
    }
  }

  async function commit(items: readonly Item[], at: Date): Promise<Answer[]> {
    try {
      return await options.commit(items, at);
    } catch (error) {
      if (!isWorthAnother(error)) throw error;
      return options.commit(items, at);
    }
  }

  return {
    add(item) {
      if (waiting.length >= MAX_WAITING) return Promise.reject(overloaded());
      return new Promise((resolve, reject) => {
        waiting.push({ item, key: options.keyOf(item), since: performance.now(), resolve, reject });
        if (isRunning) return;
        isRunning = true;
        void run();
      });
    },
  };
}

/** SQLSTATEs of what has to do with other transactions alone: serialization_failure, deadlock_detected. */
const CONCURRENCY = new Set(['40001', '40P01']);
/** lock_not_available, query_canceled (by statement_timeout): each half would wait as long again. */
const TOO_LONG = new Set(['55P03', '57014']);

/** Without an answer it may have taken effect: then the second time finds each item's key. */
function isWorthAnother(error: unknown): boolean {
  // The pool's own: it had no connection to send it on.
  if (error instanceof DomainError) return false;
  const refusal = refusedByDatabase(error);
  return refusal === null || CONCURRENCY.has(refusal.code);
}

function mayBeOfOneItem(error: unknown): boolean {
  const refusal = refusedByDatabase(error);
  return refusal !== null && !TOO_LONG.has(refusal.code);
}
