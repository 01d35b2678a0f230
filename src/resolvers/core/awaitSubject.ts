/**
 * Waits for a subject (a project, a retirement, …) to reach a state, up to the mutation's limit. The work itself
 * does not depend on the wait.
 */
import type { Needs } from './dependencies.ts';

/** A lost notification delays the answer by this at most. */
const LOOK_INTERVAL_MS = 500;

/** @returns the subject as read when `isDone` was true or the time was up. */
export async function awaitSubject<T>(
  deps: Needs<'subjects' | 'mutationWaitMs'>,
  subjectId: string,
  read: () => Promise<T>,
  isDone: (subject: T) => boolean,
): Promise<T> {
  // A timer, not the wall clock: a clock that is set back would prolong the wait.
  let isTimeUp = false;
  const timer = setTimeout(() => (isTimeUp = true), deps.mutationWaitMs);
  try {
    for (;;) {
      const isLastLook = isTimeUp || deps.mutationWaitMs <= 0;
      const notified = deps.subjects.waitFor(
        subjectId,
        Math.min(LOOK_INTERVAL_MS, Math.max(deps.mutationWaitMs, 0)),
      );
      const subject = await read();
      if (isLastLook || isDone(subject)) return subject;
      await notified;
    }
  } finally {
    clearTimeout(timer);
  }
}
