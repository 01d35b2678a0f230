/**
 * Limits how long a caller waits for work.
 */

/** The work did not end in time; it may still go on. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Waits at most `timeoutMs`; the work itself continues. @throws TimeoutError, and what the work throws by
 * then
 */
export async function withTimeout<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`Not done after ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits until the work is done, at most `timeoutMs`: being late is no failure. @returns whether it is done
 * @throws what the work throws by then
 */
export async function waitAtMost(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  try {
    await withTimeout(timeoutMs, work);
    return true;
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    return false;
  }
}
