/**
 * Repeats a question, because one address may stand for several nodes, some of them behind the others: the
 * next node may have an answer that one lacks.
 */

/**
 * With two nodes that answer in turns, or at random, one that is not behind answers within so many
 * repetitions.
 */
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
  /** The last ledger heard of, of any age, and when, by the clock of `elapsedMs`. */
  last(): { ledger: bigint; atMs: number };
}

/**
 * A false number expires after this time, because each later answer would count as outdated. A node that is
 * behind for longer counts as behind anyway.
 */
const HEARD_LASTS_MS = 60_000;

/**
 * @param elapsedMs a monotonic clock: if the machine's clock is set back, a false number lasts longer by as
 *   much
 */
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
