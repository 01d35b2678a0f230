/**
 * An async iterator that can be ended from outside.
 */

/**
 * The same stream, ended by `watch`. Nothing is read ahead: each `next` is one `next` of the source. (Not `Promise.race` with a promise of the end: that would remember every event.)
 * @param watch receives the function that ends the stream, and returns the one that stops watching.
 */
export function endingStream<T>(
  source: AsyncIterable<T>,
  watch: (end: () => void) => () => void,
): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const finished: IteratorResult<T> = { done: true, value: undefined };
  let ended = false;
  let answerPending: ((result: IteratorResult<T>) => void) | undefined;
  const end = async () => {
    ended = true;
    stopWatch();
    answerPending?.(finished);
    await iterator.return?.();
    return finished;
  };
  // A failure of the source to stop is ignored: the reader already has its answer.
  const stopWatch = watch(() => void end().catch(() => undefined));
  const pull = async () => {
    const result = await iterator.next();
    if (result.done === true) stopWatch();
    return result;
  };
  return {
    next: () =>
      new Promise((resolve, reject) => {
        if (ended) return resolve(finished);
        answerPending = resolve;
        pull().then(resolve, (error: unknown) => {
          stopWatch();
          reject(error);
        });
      }),
    return: end,
    throw: async (error) => {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
