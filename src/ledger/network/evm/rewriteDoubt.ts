/**
 * Decides whether another block has replaced a final one: it is believed after two answers that say so,
 * seconds apart. A node that shows other blocks only briefly thus halts nothing permanently; until then its
 * answers are not used. Contrary answers between the two change nothing, because one address may stand for
 * nodes that lag.
 */
import { AGREED_AFTER_MS } from '../continuity.ts';

export interface RewriteDoubt {
  /** Called with each answer that shows another block. */
  isBelieved(): boolean;
  /** Called with each answer that shows the final block unchanged. */
  noteWhole(): void;
  /** True if another block was shown moments ago, so that it is not known yet which chain is right. */
  isOpen(): boolean;
}

/** A doubt that is older, and was contradicted since, is not counted: the next one starts anew. */
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
