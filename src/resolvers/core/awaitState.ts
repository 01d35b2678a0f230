/**
 * Waits for a row (a project, a retirement, …) to reach a state, up to the mutation's limit or the server's stop. The work
 * itself does not depend on the wait.
 */
import type { Needs } from './dependencies.ts';

/** A lost notification delays the answer by this at most. */
const LOOK_INTERVAL_MS = 500;

/** @returns the row as read when `isDone` was true, the time was up or the server stops. */
export async function awaitState<T>(
  deps: Needs<'stateSignal' | 'mutationWaitMs'>,
  id: string,
  read: () => Promise<T>,
  isDone: (row: T) => boolean,
): Promise<T> {
  // A timer, not the wall clock: a clock that is set back would prolong the wait.
  let isTimeUp = false;
  const timer = setTimeout(() => (isTimeUp = true), deps.mutationWaitMs);
  try {
    for (;;) {
      const isLastLook = isTimeUp || deps.mutationWaitMs <= 0 || deps.stateSignal.hasEndedWaits();
      const notified = deps.stateSignal.waitFor(
        id,
        Math.min(LOOK_INTERVAL_MS, Math.max(deps.mutationWaitMs, 0)),
      );
      const row = await read();
      if (isLastLook || isDone(row)) return row;
      await notified;
    }
  } finally {
    clearTimeout(timer);
  }
}
