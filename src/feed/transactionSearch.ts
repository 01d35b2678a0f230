/**
 * The regular search for records' missing transactions: each call searches a bounded part of a pass.
 */
import { completeNext } from './recordTransactions.ts';

/**
 * Maximum calls that skip the search after fruitless passes: the network may never name some transactions.
 */
const MAX_SKIPPED_CALLS = 15;

/** @returns a search that rejects at its end if a token was not looked up; the next pass looks it up again */
export function createTransactionSearch(deps: Parameters<typeof completeNext>[0]): () => Promise<void> {
  let lookedTo = 0n;
  /** Whether this pass has asked without finding a transaction and without a failure; null before it asks. */
  let isFruitless: boolean | null = null;
  let callsToSkip = 0;
  let skipAfterPass = 0;

  return async () => {
    if (callsToSkip > 0) {
      callsToSkip -= 1;
      return;
    }
    const { next, completed, failures } = await completeNext(deps, lookedTo);
    lookedTo = next ?? 0n;
    if (next !== null) {
      isFruitless = isFruitless !== false && completed === 0 && failures.length === 0;
      if (failures.length > 0) throw failures[0];
      return;
    }
    skipAfterPass = isFruitless ? Math.min(2 * skipAfterPass + 1, MAX_SKIPPED_CALLS) : 0;
    callsToSkip = skipAfterPass;
    isFruitless = null;
  };
}
