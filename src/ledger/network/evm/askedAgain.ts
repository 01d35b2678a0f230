/**
 * Behind one address may be several nodes, and some of them behind the others: what one lacks, another may answer next.
 */
import type { Block } from './node.ts';

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

export interface Heads {
  note(latest: Block): void;
  /** By much more than a fork takes back, or than nodes differ by that follow the chain. */
  isBehind(latest: Block): boolean;
}

/** One false number would otherwise have each later answer asked for again. */
const HEARD_LASTS_MS = 60_000;
const HEADS_DIFFER_BLOCKS = 2n;

/** The latest blocks in the answers of the last minute. */
export function createHeads(elapsedMs: () => number = () => performance.now()): Heads {
  let highest = { number: 0n, atMs: Number.NEGATIVE_INFINITY };
  const heard = () => (elapsedMs() - highest.atMs < HEARD_LASTS_MS ? highest.number : 0n);
  return {
    note({ number }) {
      if (number >= heard()) highest = { number, atMs: elapsedMs() };
    },
    isBehind: ({ number }) => number + HEADS_DIFFER_BLOCKS < heard(),
  };
}
