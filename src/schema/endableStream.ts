/**
 * Streams that end when their reader says so, even while they wait for something to happen: an async
 * generator alone answers `return` only after its next value.
 */

/** `open` is given the signal that tells it to end; each `next` is one `next` of what it opened. */
export async function endableStream<T>(
  open: (signal: AbortSignal) => Promise<AsyncGenerator<T, void, void>>,
): Promise<AsyncIterableIterator<T>> {
  const ending = new AbortController();
  const source = await open(ending.signal);
  const stream: AsyncIterableIterator<T> = {
    next: () => source.next(),
    return: () => {
      ending.abort();
      return source.return();
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}
