/**
 * Repeats a question, because one address may stand for several nodes, some of them behind the others: the
 * next node may have the missing answer.
 */

/** If two nodes answer in turns or at random, one that is not behind answers within so many repetitions. */
const MAX_ASKED_AGAIN = 4;

export async function askAgainWhile<T>(
  isBehind: (answer: T) => boolean,
  asked: () => Promise<T>,
): Promise<T> {
  for (let left = MAX_ASKED_AGAIN; ; left -= 1) {
    const answer = await asked();
    if (left === 0 || !isBehind(answer)) return answer;
  }
}

export interface HeardLedgers {
  note(ledger: bigint): void;
  /** The latest ledger in the answers of the last minute; 0n if there was none. */
  latest(): bigint;
  /** The last ledger heard of, of any age, and its time by the clock of `elapsedMs`. */
  last(): { ledger: bigint; atMs: number };
}

/**
 * How long a ledger counts as heard of: without the limit, one false number would make each later answer an
 * outdated one. A node that lags by more counts as behind.
 */
const HEARD_LASTS_MS = 60_000;

/** @param elapsedMs a monotonic clock: one that is set back would prolong the belief in a false number */
export function createHeardLedgers(elapsedMs: () => number = () => performance.now()): HeardLedgers {
  let last = { ledger: 0n, atMs: 0 };
  const latest = () => (elapsedMs() - last.atMs < HEARD_LASTS_MS ? last.ledger : 0n);
  return {
    note(ledger) {
      if (ledger >= latest()) last = { ledger, atMs: elapsedMs() };
    },
    latest,
    last: () => last,
  };
}
