/**
 * Follows the feed: replays the records after a cursor, then continues live, without gap or repeat.
 *
 * Pull-based: a subscriber asks for the next record when its last one was flushed, and reads it from the
 * table, or from a tail of the newest records that all subscribers share. Nothing is queued per subscriber,
 * so a subscriber that never reads costs one iterator and does not slow the others.
 */
import type { Db } from '../db/connection.ts';
import type { PublicReads } from '../db/publicReads.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import type { Logger } from '../lib/logger.ts';
import { createConcurrencyLimit } from '../lib/concurrencyLimit.ts';
import type { PullStream } from '../lib/pullStream.ts';
import type { AppendedRecord } from './feedCursor.ts';
import type { FeedFilter, FeedRecord } from './feedFilter.ts';
import { FeedReader, type FeedPage, type FeedPages, type FollowOptions } from './feedReader.ts';
import { createTail } from './feedTail.ts';
import { readHead, readNewest, readStored } from './readFeed.ts';

export type { FeedRecord };

/**
 * Pages read from the table at a time. A filter that matches nothing reads a long history to its end, and an
 * address may have thousands of subscriptions: without this limit, all other statements would wait behind
 * theirs. The number of waiting reads is unlimited, because subscriptions are limited; one that waits longer
 * than waitMs is refused, and its client resumes.
 */
const PAGE_READS = { maxConcurrent: 8, maxPerKey: 4, maxWaiting: Infinity, waitMs: 60_000 };
/** A notification may be lost with its connection; the subscriber then gets the record this late. */
const POLL_MS = 5000;

export interface FeedFollower {
  /**
   * Yields the matching records after `after`, ascending by position; without `after`, from the feed's end at
   * the first pull. Ends when its reader returns, and when the database has lost records: the records that
   * follow have another order.
   */
  follow(options: FollowOptions): PullStream<FeedRecord>;
  /**
   * The last record that every public list has, whichever replica it is read from: the feed's newest one
   * without replicas, otherwise the newest one from before the replicas' longest delay. Null when there is
   * none.
   */
  endForLists(): Promise<AppendedRecord | null>;
  start(): Promise<void>;
  close(): void;
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

  async function readPage(cursor: bigint, filter: FeedFilter): Promise<FeedPage> {
    const kept = tail.pageOfTail(cursor, filter);
    if (kept) return kept;
    const page = await deps.publicReads.run(async (db, isReplica) => ({
      isReplica,
      // A transaction stays on one replica: another replica may lack records up to the end that this one has
      // read.
      ...(await (isReplica
        ? db.transaction((tx) => readStored(tx, cursor, filter, tail.tailEnd()))
        : readStored(db, cursor, filter))),
    }));
    const isEnd = page.records.length === 0 && page.lookedTo <= cursor;
    // Only the primary knows whether a replica's end is the feed's end.
    return page.isReplica && isEnd ? readStored(deps.db, cursor, filter) : page;
  }

  const pages: FeedPages = {
    ...tail,
    async readPage(cursor, filter, { reader, isOver }) {
      const giveBack = await places.take(reader);
      try {
        // The subscriber may have ended while it waited.
        return isOver() ? null : await readPage(cursor, filter);
      } finally {
        giveBack();
      }
    },
    readHead: () => readHead(deps.db),
    isClosed: () => isClosed,
  };
  return {
    follow: (options) => new FeedReader(pages, options),
    endForLists: () => (deps.publicReads.maxAgeMs === 0 ? readNewest(deps.db) : tail.endBefore()),
    async start() {
      await tail.refresh();
      unlisten = deps.feedSignal.onNotify(() => void tail.refresh());
      poll = setInterval(() => void tail.poll(), POLL_MS);
    },
    close() {
      clearInterval(poll);
      unlisten?.();
      isClosed = true;
      tail.wakeAll();
    },
  };
}
