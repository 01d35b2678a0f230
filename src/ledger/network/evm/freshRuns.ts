/**
 * One question for many who ask at once. Whoever comes while a run is under way shares the next one, so an
 * answer is never older than its question.
 */
export function shareFreshRuns<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  function start(): Promise<T> {
    const started = run();
    running = started;
    const end = () => {
      if (running === started) running = null;
    };
    started.then(end, end);
    return started;
  }

  return () => {
    if (running === null) return start();
    next ??= running.then(ignore, ignore).then(() => {
      next = null;
      return start();
    });
    return next;
  };
}

function ignore(): void {}
