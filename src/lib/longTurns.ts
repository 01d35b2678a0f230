/**
 * Pauses in long work, so that what others have sent meanwhile is read.
 */

/** Far less than a person notices, and longer than most operations compute in all. */
const LONG_TURN_MS = 5;

let sinceMs: number | null = null;

/** To be awaited between two parts of the work; null while this turn of the event loop is short, as in most operations. */
export function pauseInLongTurn(): Promise<void> | null {
  const nowMs = performance.now();
  if (sinceMs === null) {
    sinceMs = nowMs;
    setImmediate(() => (sinceMs = null));
  }
  if (nowMs - sinceMs < LONG_TURN_MS) return null;
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
