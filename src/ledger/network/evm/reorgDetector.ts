/**
 * Decides whether the chain was reorganised below a final block: two answers, seconds apart, that show
 * another block in its place confirm it. A node that shows other blocks only briefly thus halts nothing
 * permanently; until then its answers are not used. Contrary answers between the two change nothing, because
 * one address may stand for nodes that lag.
 */
import { AGREED_AFTER_MS } from '../continuity.ts';

export interface ReorgDetector {
  /** Called with each answer that shows another block. @returns whether the reorganisation is confirmed */
  noteReorg(): boolean;
  /** Called with each answer that shows the final block unchanged. */
  noteUnchanged(): void;
  /** True if another block was shown moments ago, so that it is not known yet which chain is right. */
  isPending(): boolean;
}

/**
 * A reorganisation that was shown longer ago, and contradicted since, is not counted: the next one starts
 * anew.
 */
const FORGOTTEN_AFTER_MS = 30_000;

export function createReorgDetector({
  confirmedAfterMs = AGREED_AFTER_MS,
  nowMs = () => performance.now(),
}: {
  confirmedAfterMs?: number | undefined;
  nowMs?: () => number;
}): ReorgDetector {
  let firstMs: number | null = null;
  let lastMs = Number.NEGATIVE_INFINITY;
  let isContradicted = false;
  return {
    noteReorg() {
      const now = nowMs();
      if (firstMs === null || (isContradicted && now - lastMs > FORGOTTEN_AFTER_MS)) firstMs = now;
      isContradicted = false;
      lastMs = now;
      return now - firstMs >= confirmedAfterMs;
    },
    noteUnchanged() {
      isContradicted = true;
    },
    isPending: () => nowMs() - lastMs < confirmedAfterMs,
  };
}
