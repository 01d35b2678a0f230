/**
 * A stream that something else can end.
 */

/**
 * The same stream, ended when `watch` says so. Nothing is pulled from it ahead of its reader: each `next` is one
 * `next` of the source. (Not `Promise.race` with a promise of the end: that would remember every event.)
 * @param watch is given what ends the stream; it returns what stops the watch.
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
  // The source's own failure to stop has nobody to be told; its reader is already answered.
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
