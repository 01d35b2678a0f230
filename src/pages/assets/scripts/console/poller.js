/**
 * Repeats a read every few seconds, one at a time, and not while the page is hidden. The wait is longer after
 * failures, and follows the server's retry time after RATE_LIMITED.
 */
const LONGEST_WAIT_MS = 60_000;

/**
 * @param work reads once; rejects when there is no answer
 * @param report gets the end of each read: null or the error, and the wait before the next one
 */
export function createPoller({ everyMs, work, report }) {
  let timer = null;
  let isBusy = false;
  let isAgain = false;
  let isStopped = false;
  let failures = 0;

  const look = () => void run();

  async function run() {
    clearTimeout(timer);
    if (isStopped || document.hidden) return;
    if (isBusy) {
      // A read under way may have begun before the caller's change.
      isAgain = true;
      return;
    }
    isBusy = true;
    let waitMs = everyMs;
    try {
      await work();
      failures = 0;
      report(null, waitMs);
    } catch (error) {
      failures += 1;
      // Jitter, so that the pages do not all send requests at once to a restarted server.
      const backoffMs = Math.min(everyMs * 2 ** (failures - 1), LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);
      waitMs = Math.max(backoffMs, (error.retryAfterSeconds ?? 0) * 1000);
      if (!isStopped) report(error, waitMs);
    }
    isBusy = false;
    if (isStopped) return;
    timer = setTimeout(look, isAgain ? 0 : waitMs);
    isAgain = false;
  }

  document.addEventListener('visibilitychange', look);
  return {
    /** Reads now, and then repeatedly. */
    run,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    },
  };
}
