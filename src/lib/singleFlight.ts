/**
 * One run for many callers at the same time.
 */

/** One run at a time: a caller during a run gets its answer, which may be older than the question. */
export function singleFlight<T>(run: () => Promise<T>): () => Promise<T> {
  const share = singleFlightByKey<T>();
  return () => share('', run);
}

/** One run at a time for each key, the run of the key's first caller. */
export function singleFlightByKey<T>(): (key: string, run: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  return (key, run) => {
    const underWay = running.get(key);
    if (underWay) return underWay;
    const started = run().finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
}

/** Callers during a run share the next one, so an answer is never older than its question. */
export function freshSingleFlight<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  function start(): Promise<T> {
    const end = () => {
      running = null;
    };
    running = run();
    running.then(end, end);
    return running;
  }

  return () => {
    // `next` is also set between the end of a run and the beginning of the next.
    if (next !== null) return next;
    if (running === null) return start();
    next = running.then(ignore, ignore).then(() => {
      next = null;
      return start();
    });
    return next;
  };
}

function ignore(): void {}
