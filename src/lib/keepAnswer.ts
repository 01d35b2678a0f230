/**
 * An answer that serves all who ask within a time: what it costs is paid once, however many ask.
 */
import type { Clock } from './clock.ts';

/** A failure is kept for as long, too. */
export function keepAnswer<T>(keptMs: number, clock: Clock, ask: () => Promise<T>): () => Promise<T> {
  let kept: { answer: Promise<T>; askedAtMs: number } | undefined;
  return () => {
    const nowMs = clock.now().getTime();
    if (kept === undefined || nowMs - kept.askedAtMs >= keptMs) kept = { answer: ask(), askedAtMs: nowMs };
    return kept.answer;
  };
}
