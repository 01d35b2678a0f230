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
  return new CallbackStream(pull, end);
}

/** A class, because every subscriber keeps some: with functions of its own, each takes three times the memory. */
class CallbackStream<T> implements PullStream<T> {
  readonly pull: (take: Take<T>) => void;
  private readonly end: () => unknown;

  constructor(pull: (take: Take<T>) => void, end: () => unknown) {
    this.pull = pull;
    this.end = end;
  }

  next(): Promise<IteratorResult<T, void>> {
    return new Promise((resolve, reject) => {
      this.pull((step) => {
        if (step === null) resolve({ done: true, value: undefined });
        else if ('error' in step) reject(step.error);
        else resolve({ done: false, value: step.value });
      });
    });
  }

  async return(): Promise<IteratorResult<T, void>> {
    await this.end();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<T, void>> {
    await this.end();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
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

export function mapPull<T, R>(source: PullStream<T>, mapping: Mapping<T, R>): PullStream<R> {
  let waiting: Take<R> = unasked;
  // One for all steps: made for each, it would wait with its reader for the next one, and outlive the collections of young memory.
  const onStep: Take<T> = (step) => takeMapped(source, mapping, step, waiting);
  return pullStream<R>(
    (take) => {
      waiting = take;
      source.pull(onStep);
    },
    () => endMapped(source, mapping),
  );
}

function unasked(): void {
  throw new Error('a stream gave a step before it was asked for one');
}

function takeMapped<T, R>(source: PullStream<T>, mapping: Mapping<T, R>, step: Step<T>, take: Take<R>): void {
  if (step === null) {
    mapping.ended?.();
    return take(null);
  }
  if ('error' in step) {
    mapping.ended?.();
    return take({ error: shownError(mapping, step.error) });
  }
  const fail = (thrown: unknown) => {
    // The source's failure to end is ignored: the reader has an error already.
    endMapped(source, mapping).catch(() => undefined);
    take({ error: shownError(mapping, thrown) });
  };
  let mapped: R | Promise<R>;
  try {
    mapped = mapping.value(step.value);
  } catch (thrown) {
    return fail(thrown);
  }
  if (!(mapped instanceof Promise)) return take({ value: mapped });
  mapped.then((value) => take({ value }), fail);
  return undefined;
}

function endMapped<T, R>(source: PullStream<T>, { ended }: Mapping<T, R>): Promise<unknown> {
  ended?.();
  return source.return();
}

function shownError<T, R>({ error }: Mapping<T, R>, thrown: unknown): unknown {
  return error === undefined ? thrown : error(thrown);
}
