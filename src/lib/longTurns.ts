/**
 * Pauses in long work, so that what others have sent meanwhile is read.
 */

/** Far less than a person notices, and longer than most operations compute in all. */
const LONG_TURN_MS = 5;

/** To be awaited between two parts of the work; null while this turn of the event loop is short, as in most operations. */
type PauseInLongTurn = () => Promise<void> | null;

/** For all that computes in one process. */
export const pauseInLongTurn = createPauses(() => performance.now());

export function createPauses(nowMs: () => number): PauseInLongTurn {
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
