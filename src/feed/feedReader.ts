/**
 * One subscriber of the feed. Reads the records after its cursor from the table, and from the shared tail
 * once the tail reaches back to the cursor.
 */
import { StreamBase, type StepReader } from '../lib/pullStream.ts';
import { commonFilter, type FeedFilter, type FeedRecord } from './feedFilter.ts';

/** Records after a cursor, and the position up to which the feed was searched. */
export interface FeedPage {
  records: readonly FeedRecord[];
  lookedTo: bigint;
}

export interface FollowOptions {
  filter: FeedFilter;
  after: bigint | null;
  /** The key of the subscriber's address; places to read from the table are limited for each key. */
  reader?: string | undefined;
}

/** A subscriber that waits for the feed to grow. */
export interface Waiter {
  /** The waiter's index in the list of waiters, which sets it. */
  place: number;
  wake(): void;
}

/** The reads that all subscribers share. */
export interface FeedPages {
  tailEnd(): bigint;
  /** Wakes the waiter once, when the tail has grown. A waiter that waits already is not added again. */
  onceGrown(waiter: Waiter): void;
  /** @returns whether the waiter was waiting; it is not woken any more */
  stopWaiting(waiter: Waiter): boolean;
  /** Null when the tail does not reach back that far. */
  pageOfTail(cursor: bigint, filter: FeedFilter): FeedPage | null;
  /**
   * A page of the tail or table, once `reader` has a free place; null if the subscriber has ended by then.
   */
  readPage(
    cursor: bigint,
    filter: FeedFilter,
    place: { reader: string | undefined; isOver(): boolean },
  ): Promise<FeedPage | null>;
  readHead(): Promise<bigint>;
  /** Changes each time the database has lost records that the tail had. */
  history(): number;
  isClosed(): boolean;
}

const NO_RECORDS: readonly FeedRecord[] = [];

export class FeedReader extends StreamBase<FeedRecord> implements Waiter {
  place = -1;
  private readonly pages: FeedPages;
  private readonly filter: FeedFilter;
  private readonly reader: string | undefined;
  private readonly history: number;
  private isOver = false;
  private cursor: bigint | null;
  private records = NO_RECORDS;
  private at = 0;
  private lookedTo = 0n;
  private tailEndBefore = -1n;
  private waiting: StepReader<FeedRecord> | undefined;

  constructor(pages: FeedPages, options: FollowOptions) {
    super();
    this.pages = pages;
    this.filter = commonFilter(options.filter);
    this.reader = options.reader;
    this.history = pages.history();
    this.cursor = options.after;
  }

  pull(reader: StepReader<FeedRecord>): void {
    if (this.hasEnded()) return reader.onEnd();
    const record = this.records[this.at++];
    if (record !== undefined) {
      this.cursor = record.position;
      return reader.onValue(record);
    }
    this.cursor = this.readTo();
    this.tailEndBefore = this.pages.tailEnd();
    const kept = this.cursor === null ? null : this.pages.pageOfTail(this.cursor, this.filter);
    if (kept !== null) {
      this.take(kept);
      return this.proceed(reader);
    }
    this.readOn().then(
      () => this.proceed(reader),
      (error: unknown) => reader.onError(error),
    );
    return undefined;
  }

  wake(): void {
    if (this.waiting !== undefined) this.pull(this.waiting);
  }

  protected stop(): void {
    this.isOver = true;
    if (this.pages.stopWaiting(this)) this.wake();
  }

  private async readOn(): Promise<void> {
    this.cursor ??= await this.pages.readHead();
    const page = await this.pages.readPage(this.cursor, this.filter, {
      reader: this.reader,
      isOver: () => this.isOver,
    });
    if (page !== null) this.take(page);
  }

  private take({ records, lookedTo }: FeedPage): void {
    this.records = records;
    this.lookedTo = lookedTo;
    this.at = 0;
  }

  private proceed(reader: StepReader<FeedRecord>): void {
    const readTo = this.readTo() ?? 0n;
    const tailEnd = this.pages.tailEnd();
    // A database that lost records ends before the tail until the tail notices: reading again would loop.
    const hasMoved = tailEnd > this.tailEndBefore || (this.cursor !== null && readTo > this.cursor);
    // The check of the tail's end and the start of the wait are one synchronous step, so no record is missed.
    const isNext = this.records.length > 0 || (hasMoved && tailEnd > readTo);
    if (isNext || this.hasEnded()) return this.pull(reader);
    this.waiting = reader;
    this.pages.onceGrown(this);
    return undefined;
  }

  private readTo(): bigint | null {
    return this.cursor !== null && this.lookedTo > this.cursor ? this.lookedTo : this.cursor;
  }

  /** True also after the database has lost records, because the records that follow have another order. */
  private hasEnded(): boolean {
    return this.isOver || this.pages.isClosed() || this.pages.history() !== this.history;
  }
}
