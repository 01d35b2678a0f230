/**
 * Waiting for a subject (a project, a retirement, …) to reach a state, up to the mutation's limit. The work
 * itself goes on whether anyone waits or not.
 */
import type { Dependencies } from './dependencies.ts';

/** A ring may be lost; this is how long that can go unnoticed. */
const LOOK_INTERVAL_MS = 500;

/** @returns the subject in the state reached when `isDone`, or when the time is up. */
export async function awaitSubject<T>(
  deps: Pick<Dependencies, 'subjects' | 'clock' | 'mutationWaitMs'>,
  subjectId: string,
  read: () => Promise<T>,
  isDone: (subject: T) => boolean,
): Promise<T> {
  const deadlineMs = deps.clock.now().getTime() + deps.mutationWaitMs;
  for (;;) {
    const remainingMs = deadlineMs - deps.clock.now().getTime();
    const rung = deps.subjects.next(subjectId, Math.min(LOOK_INTERVAL_MS, Math.max(remainingMs, 0)));
    const subject = await read();
    if (remainingMs <= 0 || isDone(subject)) return subject;
    await rung;
  }
}
