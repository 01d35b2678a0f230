/**
 * Waits for a row (a project, a retirement, …) to reach a state, up to the mutation's limit or the server's stop. The work
 * itself does not depend on the wait.
 */
import type { Needs } from './dependencies.ts';

/** The first look without a notification; each further one comes after twice the time, so that a lost one doubles a wait at most. */
const FIRST_LOOK_MS = 500;

/**
 * @param isNew the row was made by this call, which would find it as it made it: the first look waits for a notification
 * @returns the row as read when `isDone` was true, the time was up or the server stops.
 */
export async function awaitState<T>(
  deps: Needs<'stateSignal' | 'mutationWaitMs'>,
  id: string,
  read: () => Promise<T>,
  isDone: (row: T) => boolean,
  { isNew = false }: { isNew?: boolean } = {},
): Promise<T> {
  // A timer, not the wall clock: a clock that is set back would prolong the wait.
  let isTimeUp = false;
  const timer = setTimeout(() => (isTimeUp = true), deps.mutationWaitMs);
  try {
    let lookMs = FIRST_LOOK_MS;
    const waitForLook = () =>
      deps.stateSignal.waitFor(id, Math.min(lookMs, Math.max(deps.mutationWaitMs, 0)));
    if (isNew && !deps.stateSignal.hasEndedWaits()) await waitForLook();
    for (;;) {
      const isLastLook = isTimeUp || deps.mutationWaitMs <= 0 || deps.stateSignal.hasEndedWaits();
      const notified = waitForLook();
      const row = await read();
      if (isLastLook || isDone(row)) return row;
      await notified;
      lookMs *= 2;
    }
  } finally {
    clearTimeout(timer);
  }
}
