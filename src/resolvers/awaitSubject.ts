/**
 * Waiting for a subject (a project, a retirement, …) to reach a state, up to the mutation's limit. The work
 * itself goes on whether anyone waits or not.
 */
import type { Dependencies } from './dependencies.ts';

/** A ring may be lost; this is how long that can go unnoticed. */
const LOOK_INTERVAL_MS = 500;

/** @returns the subject in the state reached when `isDone`, or when the time is up. */
export async function awaitSubject<T>(
  deps: Pick<Dependencies, 'subjects' | 'mutationWaitMs'>,
  subjectId: string,
  read: () => Promise<T>,
  isDone: (subject: T) => boolean,
): Promise<T> {
  // A timer, not the time of day: a clock that is set back would prolong the wait by as much.
  let isTimeUp = false;
  const timer = setTimeout(() => (isTimeUp = true), deps.mutationWaitMs);
  try {
    for (;;) {
      const isLastLook = isTimeUp || deps.mutationWaitMs <= 0;
      const rung = deps.subjects.next(
        subjectId,
        Math.min(LOOK_INTERVAL_MS, Math.max(deps.mutationWaitMs, 0)),
      );
      const subject = await read();
      if (isLastLook || isDone(subject)) return subject;
      await rung;
    }
  } finally {
    clearTimeout(timer);
  }
}
