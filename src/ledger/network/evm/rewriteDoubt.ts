/**
 * Whether it is believed that another block has replaced a final one: after two answers that say so, seconds apart. A node that
 * shows other blocks for a moment then stops nothing for good; until then its answers are no answers. Answers of
 * another kind between the two change nothing: behind one address may be nodes that lag.
 */
import { AGREED_AFTER_MS } from '../continuity.ts';

export interface RewriteDoubt {
  /** Called with each answer that shows another block. */
  isBelieved(): boolean;
  /** Called with each answer that shows what was final. */
  noteWhole(): void;
  /** Another block was shown moments ago: which chain is right is not known yet. */
  isOpen(): boolean;
}

/** What was seen so long ago, and contradicted since, says nothing of what is seen now. */
const FORGOTTEN_AFTER_MS = 30_000;

export function createRewriteDoubt({
  believedAfterMs = AGREED_AFTER_MS,
  nowMs = () => performance.now(),
}: {
  believedAfterMs?: number | undefined;
  nowMs?: () => number;
}): RewriteDoubt {
  let firstMs: number | null = null;
  let lastMs = Number.NEGATIVE_INFINITY;
  let isContradicted = false;
  return {
    isBelieved() {
      const now = nowMs();
      if (firstMs === null || (isContradicted && now - lastMs > FORGOTTEN_AFTER_MS)) firstMs = now;
      isContradicted = false;
      lastMs = now;
      return now - firstMs >= believedAfterMs;
    },
    noteWhole() {
      isContradicted = true;
    },
    isOpen: () => nowMs() - lastMs < believedAfterMs,
  };
}
