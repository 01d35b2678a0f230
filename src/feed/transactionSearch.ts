/**
 * The regular search for records without a transaction: each call searches a bounded part of them, one pass after the other.
 */
import { completeNext } from './recordTransactions.ts';

/** The network may never name some transactions: after passes without success, at most so many calls skip the search. */
const MAX_SKIPPED_CALLS = 15;

/** @returns a search that rejects after it when a token was not looked up: the next pass asks about that token again */
export function createTransactionSearch(deps: Parameters<typeof completeNext>[0]): () => Promise<void> {
  /** The position reached in this pass, and what the pass did. */
  let lookedTo = 0n;
  let foundInPass = 0;
  let failedInPass = 0;
  let askedInPass = false;
  let callsToSkip = 0;
  let skipAfterPass = 0;

  return async () => {
    if (callsToSkip > 0) {
      callsToSkip -= 1;
      return;
    }
    const { next, completed, failures } = await completeNext(deps, lookedTo);
    foundInPass += completed;
    failedInPass += failures.length;
    lookedTo = next ?? 0n;
    if (next !== null) {
      askedInPass = true;
      if (failures.length > 0) throw failures[0];
      return;
    }
    const isFruitless = askedInPass && foundInPass === 0 && failedInPass === 0;
    skipAfterPass = isFruitless ? Math.min(2 * skipAfterPass + 1, MAX_SKIPPED_CALLS) : 0;
    callsToSkip = skipAfterPass;
    foundInPass = 0;
    failedInPass = 0;
    askedInPass = false;
  };
}
