/**
 * Yields in long work, so that requests that others have sent meanwhile are read.
 */

/** Far less than a person notices, and longer than most operations compute in all. */
const LONG_TURN_MS = 5;

/** Await it between two parts of the work. Null while this turn is short, as in most operations. */
type YieldToEventLoop = () => Promise<void> | null;

/** The yields of all computing in one process. */
export const yieldToEventLoop = createYield(() => performance.now());

/** @param nowMs a clock that never goes back */
export function createYield(nowMs: () => number): YieldToEventLoop {
  let sinceMs: number | null = null;
  return () => {
    const atMs = nowMs();
    if (sinceMs === null) {
      sinceMs = atMs;
      setImmediate(() => (sinceMs = null));
    }
    if (atMs - sinceMs < LONG_TURN_MS) return null;
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  };
}
