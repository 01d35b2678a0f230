/**
 * Follows the feed: replays the records after a cursor, then continues live, without gap or repeat.
 *
 * Pull-based: a subscriber asks for the next record when its last one was flushed, and reads it from the table, or
 * from a tail of the newest records that all subscribers share. Nothing is queued per subscriber, so a subscriber that
 * never reads costs one iterator and does not slow the others.
 */
import type { Db } from '../db/connection.ts';
import type { PublicReads } from '../db/publicReads.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import type { Logger } from '../lib/logger.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from '../lib/concurrencyLimit.ts';
import { pullStream, type PullStream, type Take } from '../lib/pullStream.ts';
import type { AppendedRecord } from './feedCursor.ts';
import type { FeedFilter, FeedRecord } from './feedFilter.ts';
import { createTail } from './feedTail.ts';
import { PAGE_SIZE, readHead, readNewest, readStored } from './readFeed.ts';

export type { FeedRecord };

/**
 * Pages read from the table at a time. A filter that matches nothing has a long history read to its end, and an address may have thousands
 * of subscriptions: without places, every statement of everyone else waited behind theirs. Each that waits is a subscription,
 * which are limited; one that waits for longer is refused, and resumes.
 */
const PAGE_READS = { maxConcurrent: 8, maxPerKey: 4, maxWaiting: Infinity, waitMs: 60_000 };
/** A notification may be lost with its connection; the subscriber then gets the record this late. */
const POLL_MS = 5000;

export interface FeedFollower {
  /**
   * Yields the records after `after` that match, ascending by position. Without `after`, from the feed's end at the moment
   * of the first pull. Ends when its reader returns, and when the database has lost records: what follows has another order.
   */
  follow(options: FollowOptions): PullStream<FeedRecord>;
  /**
   * The last record that every public list has, whichever replica it is read from: the feed's newest one without replicas, and else the
   * newest as of before their longest delay. Null when there is none.
   */
  endForLists(): Promise<AppendedRecord | null>;
  start(): Promise<void>;
  close(): void;
}

interface FollowOptions {
  filter: FeedFilter;
  after: bigint | null;
  /** Who reads, where places are given in turns: the key of its address. */
  reader?: string | undefined;
}

interface FollowerDependencies {
  db: Db;
  publicReads: PublicReads;
  feedSignal: ChangeSignal;
  log: Logger;
}

export function createFeedFollower(deps: FollowerDependencies): FeedFollower {
  const tail = createTail(deps);
  const places = createConcurrencyLimit(PAGE_READS);
  let isClosed = false;
  let unlisten: (() => void) | undefined;
  let poll: NodeJS.Timeout | undefined;

  /** Null when the tail does not reach back that far. */
  function pageOfTail(cursor: bigint, filter: FeedFilter) {
    const records = tail.after(cursor, filter);
    return records && { records, lookedTo: records.length < PAGE_SIZE ? tail.end() : cursor };
  }

  /** Records after `cursor`, and the position up to which was read. */
  async function readPage(cursor: bigint, filter: FeedFilter) {
    const kept = pageOfTail(cursor, filter);
    if (kept) return kept;
    const page = await deps.publicReads.run(async (db, isReplica) => ({
      isReplica,
      // One connection, so one replica: another one may not have the records up to the end that this one has.
      ...(await (isReplica
        ? db.transaction((tx) => readStored(tx, cursor, filter, tail.end()))
        : readStored(db, cursor, filter))),
    }));
    const isEnd = page.records.length === 0 && page.lookedTo <= cursor;
    // Whether a replica's end is the feed's end, only the primary knows.
    return page.isReplica && isEnd ? readStored(deps.db, cursor, filter) : page;
  }

  return {
    follow(options) {
      const history = tail.history();
      const isClosedFor = () => isClosed || tail.history() !== history;
      const readNow = () => readHead(deps.db);
      const pages = { tail, places, readPage, pageOfTail, readHead: readNow, isClosed: isClosedFor };
      return pullRecords(pages, options);
    },
    endForLists: () => (deps.publicReads.maxAgeMs === 0 ? readNewest(deps.db) : tail.endBefore()),
    async start() {
      await tail.refresh();
      unlisten = deps.feedSignal.onNotify(() => void tail.refresh());
      poll = setInterval(() => void tail.look(), POLL_MS);
    },
    close() {
      clearInterval(poll);
      unlisten?.();
      isClosed = true;
      tail.wakeAll();
    },
  };
}

interface Page {
  records: FeedRecord[];
  lookedTo: bigint;
}

interface Pages {
  tail: Pick<ReturnType<typeof createTail>, 'end' | 'onceGrown' | 'stopWaiting'>;
  places: Pick<ConcurrencyLimit, 'take'>;
  pageOfTail(cursor: bigint, filter: FeedFilter): Page | null;
  readPage(cursor: bigint, filter: FeedFilter): Promise<Page>;
  readHead(): Promise<bigint>;
  isClosed(): boolean;
}

/** One subscriber. */
function pullRecords(pages: Pages, { filter, after, reader }: FollowOptions): PullStream<FeedRecord> {
  const { tail } = pages;
  let isOver = false;
  let cursor = after;
  let page: Page = { records: [], lookedTo: 0n };
  let at = 0;
  let tailEndBefore = -1n;
  let waiting: Take<FeedRecord> | undefined;
  const wake = () => {
    if (waiting !== undefined) pull(waiting);
  };

  async function readOn(): Promise<void> {
    cursor ??= await pages.readHead();
    const giveBack = await pages.places.take(reader);
    try {
      // It may have ended while it waited.
      if (!isOver) page = await pages.readPage(cursor, filter);
    } finally {
      giveBack();
    }
  }

  function pull(take: Take<FeedRecord>): void {
    if (isOver || pages.isClosed()) return take(null);
    const record = page.records[at++];
    if (record !== undefined) {
      cursor = record.position;
      return take({ value: record });
    }
    at = 0;
    cursor = latest(cursor, page);
    tailEndBefore = tail.end();
    const kept = cursor === null ? null : pages.pageOfTail(cursor, filter);
    if (kept !== null) {
      page = kept;
      return proceed(take);
    }
    readOn().then(
      () => proceed(take),
      (error: unknown) => take({ error }),
    );
    return undefined;
  }

  function proceed(take: Take<FeedRecord>): void {
    const readTo = latest(cursor, page) ?? 0n;
    // A database that fell back ends before the tail, until the tail has seen it: asked again at once, it would say the same for ever.
    const hasMoved = tail.end() > tailEndBefore || (cursor !== null && readTo > cursor);
    // This check of the tail's end and the start of the wait are one synchronous step: no record comes in between.
    const isNext = page.records.length > 0 || (hasMoved && tail.end() > readTo);
    if (isNext || isOver || pages.isClosed()) return pull(take);
    waiting = take;
    tail.onceGrown(wake);
    return undefined;
  }

  return pullStream(pull, () => {
    isOver = true;
    if (tail.stopWaiting(wake)) wake();
  });
}

function latest(cursor: bigint | null, { lookedTo }: Page): bigint | null {
  return cursor !== null && lookedTo > cursor ? lookedTo : cursor;
}
