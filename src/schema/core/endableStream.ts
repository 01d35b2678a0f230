/**
 * Async iterators that end as soon as their reader calls `return`, also while they wait: an async generator
 * answers `return` only after its next value.
 */

/** `open` receives the signal that ends its stream; each `next` is one `next` of that stream. */
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
