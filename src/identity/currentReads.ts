/**
 * Reads data into memory, and notices that this process was paused meanwhile, for example in a frozen
 * container.
 *
 * After a pause, requests that wait in the sockets are read before timers run and notifications arrive. The
 * data in memory is then as old as the pause.
 */
import { freshSingleFlight } from '../lib/singleFlight.ts';

export interface CurrentReads {
  read(): Promise<void>;
  /** Call it before each use of the data. Null while the data is current; after a pause, a new reading. */
  awaitCurrent(): Promise<void> | null;
}

/** A regular reading up to half an interval late is a busy process's; a later one is a paused process's. */
const PAUSE_FROM_INTERVALS = 1.5;

/** @param intervalMs the longest time between two calls of `read` */
export function createCurrentReads(intervalMs: number, readNow: () => Promise<void>): CurrentReads {
  let askedAtMs = performance.now();
  let pauses = 0;
  /** Number of pauses when the last reading began. */
  let readAfter = 0;

  function countPauses(): number {
    const nowMs = performance.now();
    if (nowMs - askedAtMs > PAUSE_FROM_INTERVALS * intervalMs) pauses += 1;
    askedAtMs = nowMs;
    return pauses;
  }

  const read = freshSingleFlight(async () => {
    const before = countPauses();
    await readNow();
    readAfter = before;
  });
  return { read, awaitCurrent: () => (countPauses() === readAfter ? null : read()) };
}
