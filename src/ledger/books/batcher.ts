/**
 * Batches postings across requests. Postings that arrive while one batch commits go into the next one, so
 * that many postings share one round trip and one fsync, and an account that all of them need is locked once.
 *
 *   waiting ──the batch before has ended──▶ committed together ──▶ each posting's own answer
 *     │                                 ├─ no answer, or a conflict: sent again once; the keys make that safe
 *     │                                 └─ refused as a whole: halved, until the faulty posting is alone
 *     └─ too many wait, or one waits too long: OVERLOADED, and nothing was done
 */
import { NoFreeConnection } from '../../db/connectionLost.ts';
import { isTransient } from '../../db/transientFailures.ts';
import { refusedByDatabase } from '../../db/refusedByDatabase.ts';
import { createBatcher, type Batcher } from '../../lib/batches.ts';
import { overloaded } from '../../lib/concurrencyLimit.ts';

/**
 * Maximum postings in one batch. Accounts stay locked while a batch is written, about 20 ms at this size. A
 * larger batch shares the fsync no better, and makes the next batch wait.
 */
export const MAX_POSTINGS_PER_BATCH = 256;
/** Maximum waiting postings: seconds of work. The clients of more would give up before their answers. */
const MAX_WAITING = 10_000;
/** The longest wait of a posting; as long as a statement waits for a connection (db/pool.ts). */
const MAX_WAIT_MS = 12_000;

/**
 * @param commit commits all of the items in one transaction, or nothing; answers in their order.
 * @param halvesFrom see createBatcher
 * @returns `submit` throws DomainError OVERLOADED, and what `commit` throws for the item alone.
 */
export function createPostingBatcher<Item, Answer>(
  commit: (items: readonly Item[]) => Promise<Answer[]>,
  keyOf: (item: Item) => string,
  halvesFrom = Infinity,
): Batcher<Item, Answer> {
  return createBatcher<Item, Answer>({
    maxItems: MAX_POSTINGS_PER_BATCH,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    overloaded,
    keyOf,
    halvesFrom,
    async run(items) {
      try {
        return await commit(items);
      } catch (error) {
        if (!isWorthAnother(error)) throw error;
        return commit(items).catch((again: unknown) => {
          // If the database is unavailable now, the first commit may still have taken effect.
          throw refusedByDatabase(error) === null && isTransient(again) ? error : again;
        });
      }
    },
    dividesOn: mayBeOfOneItem,
  });
}

/**
 * SQLSTATEs that other transactions may cause: serialization_failure, deadlock_detected, and unique_violation
 * of a key that another instance has reserved meanwhile; the second commit finds that key.
 */
const CONCURRENCY = new Set(['40001', '40P01', '23505']);
/** lock_not_available, query_canceled (by statement_timeout): each half would wait as long again. */
const TOO_LONG = new Set(['55P03', '57014']);

/** A commit without an answer may have taken effect; the second commit then finds each item's key. */
function isWorthAnother(error: unknown): boolean {
  // The batch has already waited for a connection for as long as a client waits.
  if (error instanceof NoFreeConnection) return false;
  const refusal = refusedByDatabase(error);
  return refusal === null || CONCURRENCY.has(refusal.code);
}

function mayBeOfOneItem(error: unknown): boolean {
  const refusal = refusedByDatabase(error);
  return refusal !== null && !TOO_LONG.has(refusal.code);
}
