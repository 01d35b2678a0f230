/**
 * Asks again every few seconds, one question at a time, and not while the page can't be seen. After failures it asks less often,
 * after a refusal for too many requests when it may again.
 */
const LONGEST_WAIT_MS = 60_000;

/**
 * @param work asks once; rejects when there is no answer
 * @param report gets each end: null, or the error, and the wait before the next try
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
      // What is under way may have been read before what the caller did.
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
      // Jitter, so that all pages do not connect at once to a server that comes back.
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
    /** Now, and from then on. */
    run,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    },
  };
}
