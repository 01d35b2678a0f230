/**
 * Streams whose reader asks for one step at a time. An event that goes to thousands of subscribers at the
 * same moment passes some layers for each of them: with a promise in each layer, the layers took most of the
 * time, and most of a waiting subscriber's memory. Nothing is read ahead: each `pull` is one `pull` of the
 * source.
 *
 * Layers are classes, and readers of the layer below: with closures, a subscriber had four times as many
 * objects, and reading them from memory took longer than their work.
 */

/** The reader that asked for the next step. Each `pull` leads to one call. */
export interface StepReader<T> {
  onValue(value: T): void;
  onError(error: unknown): void;
  onEnd(): void;
}

export interface PullStream<T> extends AsyncGenerator<T, void, void> {
  /** Asks for the next step, one at a time. The reader is called at once when the step is known. */
  pull(reader: StepReader<T>): void;
}

/** Implements an iterator with `pull` and `stop`. */
export abstract class StreamBase<T> implements PullStream<T> {
  abstract pull(reader: StepReader<T>): void;

  /** Called when the reader wants no more, also while it waits for a step: the step is then the end. */
  protected abstract stop(): unknown;

  next(): Promise<IteratorResult<T, void>> {
    return new Promise((resolve, reject) => {
      this.pull({
        onValue: (value) => resolve({ done: false, value }),
        onError: reject,
        onEnd: () => resolve({ done: true, value: undefined }),
      });
    });
  }

  async return(): Promise<IteratorResult<T, void>> {
    await this.stop();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<T, void>> {
    await this.stop();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** A failure to stop is ignored: the reader has its answer. */
  protected stopSafely(): void {
    this.return().catch(() => undefined);
  }
}

/** Returns any stream as a PullStream. */
export function pullStreamOf<T>(source: AsyncIterable<T>): PullStream<T> {
  return 'pull' in source ? (source as PullStream<T>) : new IteratorStream(source[Symbol.asyncIterator]());
}

class IteratorStream<T> extends StreamBase<T> {
  private readonly iterator: AsyncIterator<T>;

  constructor(iterator: AsyncIterator<T>) {
    super();
    this.iterator = iterator;
  }

  pull(reader: StepReader<T>): void {
    this.iterator.next().then(
      (result) => (result.done === true ? reader.onEnd() : reader.onValue(result.value)),
      (error: unknown) => reader.onError(error),
    );
  }

  protected stop(): unknown {
    return this.iterator.return?.();
  }
}

/** A stream of the results of `map` for each value. */
export abstract class MappedStream<T, R> extends StreamBase<R> implements StepReader<T> {
  protected readonly source: PullStream<T>;
  private reader: StepReader<R> = UNASKED;

  constructor(source: PullStream<T>) {
    super();
    this.source = source;
  }

  /**
   * An error that it throws or rejects with ends the stream.
   * @returns undefined when `give` or `deliver` is called later
   */
  protected abstract map(value: T): R | Promise<R> | undefined;

  protected shownError(error: unknown): unknown {
    return error;
  }

  /** Called after the last step, and when the reader wants no more; perhaps twice. */
  protected ended(): void {}

  pull(reader: StepReader<R>): void {
    this.reader = reader;
    this.source.pull(this);
  }

  onValue(value: T): void {
    this.deliver(this.map, value);
  }

  /** Gives the reader the result of `map` for the value. */
  protected deliver<V>(map: (value: V) => R | Promise<R> | undefined, value: V): void {
    let mapped: R | Promise<R> | undefined;
    try {
      mapped = map.call(this, value);
    } catch (error) {
      return this.fail(error);
    }
    if (mapped instanceof Promise) {
      mapped.then(
        (known) => this.give(known),
        (error: unknown) => this.fail(error),
      );
    } else if (mapped !== undefined) this.give(mapped);
    return undefined;
  }

  protected give(mapped: R): void {
    this.reader.onValue(mapped);
  }

  onError(error: unknown): void {
    this.ended();
    this.reader.onError(this.shownError(error));
  }

  onEnd(): void {
    this.ended();
    this.reader.onEnd();
  }

  private fail(error: unknown): void {
    this.stopSafely();
    this.reader.onError(this.shownError(error));
  }

  protected stop(): Promise<unknown> {
    this.ended();
    return this.source.return();
  }
}

const unasked = () => {
  throw new Error('a stream gave a step before it was asked for one');
};
const UNASKED: StepReader<unknown> = { onValue: unasked, onError: unasked, onEnd: unasked };
