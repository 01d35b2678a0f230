/**
 * Behind one address may be several nodes, and some of them behind the others: what one lacks, another may answer next.
 */

/** Of two nodes in turns, or at random, one that is not behind is met by then. */
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
  /** The latest in the answers of the last minute; 0n without any. */
  latest(): bigint;
  /** Also without a later answer since: when it was heard of, by the clock of `elapsedMs`. */
  last(): { ledger: bigint; atMs: number };
}

/** One false number would otherwise make each later answer an outdated one. A node is behind by less, or counts as behind. */
const HEARD_LASTS_MS = 60_000;

/** @param elapsedMs not the machine's clock: once set back, it would keep one false number heard of for as long */
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
