/**
 * Batches postings across requests: what arrives while one batch commits goes into the next, so that many share one round
 * trip and one fsync, and an account that all of them need is locked once.
 *
 *   waiting ──the batch before has ended──▶ committed together ──▶ each posting's own answer
 *     │                                        ├─ no answer, or another transaction: sent again, once; the postings' keys make that safe
 *     │                                        └─ refused as a whole: halved, until the one that breaks it stands alone
 *     └─ too many, or too long: OVERLOADED, and nothing was done
 */
import { NoFreeConnection } from '../../db/connectionLost.ts';
import { isPassing } from '../../db/passingFailures.ts';
import { refusedByDatabase } from '../../db/refusedByDatabase.ts';
import { createBatcher, type Batcher } from '../../lib/batches.ts';
import { overloaded } from '../../lib/concurrencyLimit.ts';

/**
 * Accounts stay locked while a batch is written, some 20 ms with this many; a larger one spreads the fsync no further and
 * makes the next one wait.
 */
export const MAX_POSTINGS_PER_BATCH = 256;
/** Some seconds of work: what comes later would be answered after its client has given up. */
const MAX_WAITING = 10_000;
/** As long as for a connection (db/pool.ts). */
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
          // A database that takes nothing now says nothing about the first time, which may have taken effect.
          throw refusedByDatabase(error) === null && isPassing(again) ? error : again;
        });
      }
    },
    dividesOn: mayBeOfOneItem,
  });
}

/**
 * SQLSTATEs of what other transactions may be the reason of: serialization_failure, deadlock_detected, and unique_violation by a
 * key that another instance reserved meanwhile, which the second time finds.
 */
const CONCURRENCY = new Set(['40001', '40P01', '23505']);
/** lock_not_available, query_canceled (by statement_timeout): each half would wait as long again. */
const TOO_LONG = new Set(['55P03', '57014']);

/** Without an answer it may have taken effect: then the second time finds each item's key. */
function isWorthAnother(error: unknown): boolean {
  // It waited for as long as a client does.
  if (error instanceof NoFreeConnection) return false;
  const refusal = refusedByDatabase(error);
  return refusal === null || CONCURRENCY.has(refusal.code);
}

function mayBeOfOneItem(error: unknown): boolean {
  const refusal = refusedByDatabase(error);
  return refusal !== null && !TOO_LONG.has(refusal.code);
}
