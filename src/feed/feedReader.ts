/**
 * One subscriber of the feed: the records after its cursor, from the table, and from the shared tail once that reaches back far enough.
 */
import { StreamBase, type StepReader } from '../lib/pullStream.ts';
import { commonFilter, type FeedFilter, type FeedRecord } from './feedFilter.ts';

/** Records after a cursor, and the position up to which was looked. */
export interface FeedPage {
  records: readonly FeedRecord[];
  lookedTo: bigint;
}

export interface FollowOptions {
  filter: FeedFilter;
  after: bigint | null;
  /** Who reads, where places are given in turns: the key of its address. */
  reader?: string | undefined;
}

/** What waits for the feed to grow. */
export interface Waiter {
  /** Where it waits; kept by the list that it waits in. */
  place: number;
  wake(): void;
}

/** What all subscribers share. */
export interface FeedPages {
  tailEnd(): bigint;
  /** Wakes it once, when the tail has grown; the same waiter is kept once. */
  onceGrown(waiter: Waiter): void;
  /** @returns whether it waited, and is not woken any more */
  stopWaiting(waiter: Waiter): boolean;
  /** Null when the tail does not reach back that far. */
  pageOfTail(cursor: bigint, filter: FeedFilter): FeedPage | null;
  /** The same from the table, too, when a place is free for `reader`; null when that has gone meanwhile. */
  readPage(
    cursor: bigint,
    filter: FeedFilter,
    place: { reader: string | undefined; isOver(): boolean },
  ): Promise<FeedPage | null>;
  readHead(): Promise<bigint>;
  /** Another number since the database has lost records that the tail had. */
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
    // A database that fell back ends before the tail, until the tail has seen it: asked again at once, it would say the same for ever.
    const hasMoved = tailEnd > this.tailEndBefore || (this.cursor !== null && readTo > this.cursor);
    // This check of the tail's end and the start of the wait are one synchronous step: no record comes in between.
    const isNext = this.records.length > 0 || (hasMoved && tailEnd > readTo);
    if (isNext || this.hasEnded()) return this.pull(reader);
    this.waiting = reader;
    this.pages.onceGrown(this);
    return undefined;
  }

  private readTo(): bigint | null {
    return this.cursor !== null && this.lookedTo > this.cursor ? this.lookedTo : this.cursor;
  }

  /** What follows after records were lost has another order. */
  private hasEnded(): boolean {
    return this.isOver || this.pages.isClosed() || this.pages.history() !== this.history;
  }
}
