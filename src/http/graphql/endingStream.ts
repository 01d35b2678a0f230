/**
 * A stream that can be ended from outside, and that ends at its first failure: some readers go on after a
 * failure, and a failing source would fail again at each pull. Each `pull` is one `pull` of the source, so
 * nothing is read ahead.
 */
import { StreamBase, type PullStream, type StepReader } from '../../lib/pullStream.ts';

export class EndingStream<T> extends StreamBase<T> implements StepReader<T> {
  private readonly source: PullStream<T>;
  private readonly stopWatch: () => void;
  private isEnded = false;
  private reader: StepReader<T> | undefined;

  /** @param watch receives the function that ends the stream, and returns the one that stops watching. */
  constructor(source: PullStream<T>, watch: (end: () => void) => () => void) {
    super();
    this.source = source;
    this.stopWatch = watch(() => this.stopSafely());
  }

  pull(reader: StepReader<T>): void {
    if (this.isEnded) return reader.onEnd();
    this.reader = reader;
    this.source.pull(this);
    return undefined;
  }

  onValue(value: T): void {
    this.takeReader()?.onValue(value);
  }

  onError(error: unknown): void {
    const reader = this.takeReader();
    if (reader === undefined) return;
    this.stopSafely();
    reader.onError(error);
  }

  onEnd(): void {
    const reader = this.takeReader();
    if (reader === undefined) return;
    this.stopWatch();
    reader.onEnd();
  }

  protected stop(): Promise<unknown> {
    this.isEnded = true;
    this.stopWatch();
    this.takeReader()?.onEnd();
    return this.source.return();
  }

  /** Returns undefined when the stream was ended meanwhile, because its reader then has its answer. */
  private takeReader(): StepReader<T> | undefined {
    const { reader } = this;
    this.reader = undefined;
    return reader;
  }
}
