/**
 * Streams that are read by a callback. What thousands of subscribers are sent at the same moment passes some layers for each of
 * them: with a promise in each layer, the layers took most of the time, and most of a waiting subscriber's memory. Nothing is
 * read ahead: each `pull` is one `pull` of the source.
 */

/** The next value, why there is none, or null at the end. */
export type Step<T> = { value: T } | { error: unknown } | null;

export type Take<T> = (step: Step<T>) => void;

export interface PullStream<T> extends AsyncGenerator<T, void, void> {
  /** Asks for the next step, and is called back once: at once where it is known. One at a time. */
  pull(take: Take<T>): void;
}

/** @param end called when the reader wants no more, also while it waits for a step: the step is then the end */
export function pullStream<T>(pull: (take: Take<T>) => void, end: () => unknown): PullStream<T> {
  const stream: PullStream<T> = {
    pull,
    next: () =>
      new Promise((resolve, reject) => {
        pull((step) => {
          if (step === null) resolve({ done: true, value: undefined });
          else if ('error' in step) reject(step.error);
          else resolve({ done: false, value: step.value });
        });
      }),
    async return() {
      await end();
      return { done: true, value: undefined };
    },
    async throw(error) {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

/** Any stream, as one that is read by callbacks. */
export function pullStreamOf<T>(source: AsyncIterable<T>): PullStream<T> {
  if ('pull' in source) return source as PullStream<T>;
  const iterator = source[Symbol.asyncIterator]();
  return pullStream<T>(
    (take) => {
      iterator.next().then(
        (result) => take(result.done === true ? null : { value: result.value }),
        (error: unknown) => take({ error }),
      );
    },
    () => iterator.return?.(),
  );
}

interface Mapping<T, R> {
  /** What it throws, or rejects with, ends the stream. */
  value(value: T): R | Promise<R>;
  error?(error: unknown): unknown;
  /** After the last step, and when the reader wants no more; perhaps both. */
  ended?(): void;
}

export function mapPull<T, R>(source: PullStream<T>, { value, error, ended }: Mapping<T, R>): PullStream<R> {
  const fail = (take: Take<R>, thrown: unknown) =>
    take({ error: error === undefined ? thrown : error(thrown) });
  const end = () => {
    ended?.();
    return source.return();
  };
  const failAndEnd = (take: Take<R>, thrown: unknown) => {
    // The source's failure to end is ignored: the reader has an error already.
    end().catch(() => undefined);
    fail(take, thrown);
  };
  const takeFrom = (take: Take<R>) => (step: Step<T>) => {
    if (step === null) {
      ended?.();
      take(null);
    } else if ('error' in step) {
      ended?.();
      fail(take, step.error);
    } else {
      let mapped: R | Promise<R>;
      try {
        mapped = value(step.value);
      } catch (thrown) {
        return failAndEnd(take, thrown);
      }
      if (!(mapped instanceof Promise)) return take({ value: mapped });
      mapped.then(
        (result) => take({ value: result }),
        (thrown: unknown) => failAndEnd(take, thrown),
      );
    }
    return undefined;
  };
  return pullStream<R>((take) => source.pull(takeFrom(take)), end);
}
