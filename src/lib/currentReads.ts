/**
 * Reads what is kept in memory, and notices that this process was paused meanwhile, as by a container that is frozen.
 *
 * On the way out of a pause, what waits in its sockets is read before timers run and notifications are heard. What is kept in
 * memory is then as old as the pause.
 */
import { shareFreshRuns } from './sharedRuns.ts';

export interface CurrentReads {
  read(): Promise<void>;
  /** At each use of what is kept. Null at once, but after a pause: then it is read first. */
  awaitCurrent(): Promise<void> | null;
}

/** A regular reading that is half of its interval late is a busy process's; a later one is a paused one's. */
const PAUSE_FROM_INTERVALS = 1.5;

/** @param intervalMs how often `read` is called at least */
export function createCurrentReads(intervalMs: number, readNow: () => Promise<void>): CurrentReads {
  let askedAtMs = performance.now();
  let pauses = 0;
  /** How many there had been when the last reading began. */
  let readAfter = 0;

  function countPauses(): number {
    const nowMs = performance.now();
    if (nowMs - askedAtMs > PAUSE_FROM_INTERVALS * intervalMs) pauses += 1;
    askedAtMs = nowMs;
    return pauses;
  }

  const read = shareFreshRuns(async () => {
    const before = countPauses();
    await readNow();
    readAfter = before;
  });
  return { read, awaitCurrent: () => (countPauses() === readAfter ? null : read()) };
}
