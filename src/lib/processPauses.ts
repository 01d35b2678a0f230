/**
 * Notices that this process was paused, as by a host that moves it, by how long it was not asked.
 *
 * On the way out of a pause, what waits in its sockets is read before timers run and notifications are heard. What is kept in
 * memory is then as old as the pause.
 */

export interface ProcessPauses {
  /** How many there have been. To be asked at each use of what is kept, and regularly. */
  count(): number;
}

/** @param fromMs longer than it is not asked without a pause */
export function createProcessPauses(fromMs: number): ProcessPauses {
  let askedAtMs = performance.now();
  let pauses = 0;
  return {
    count() {
      const nowMs = performance.now();
      if (nowMs - askedAtMs > fromMs) pauses += 1;
      askedAtMs = nowMs;
      return pauses;
    },
  };
}
