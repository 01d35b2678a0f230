/**
 * Following the feed: replay what is after a cursor, then go on live, with no gap and no repeat.
 *
 * Pull-based. A subscriber asks for the next record when its last one was flushed, and reads it from the
 * table (through a tail of the newest records that all subscribers share). Nothing is queued per
 * subscriber, so one that never reads costs one iterator and nobody else.
 */
import { and, asc, eq, gt } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import type { Doorbell } from '../db/doorbell.ts';
import { feedHead, retirementRecords } from '../db/schema/index.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../logger.ts';

export type FeedRecord = typeof retirementRecords.$inferSelect;

/** Rows read at once per subscriber while it replays: its whole memory. */
const PAGE_SIZE = 50;
/** The newest records, kept once per instance so that live subscribers need no query each. */
const TAIL_SIZE = 1000;
/** A ring may be lost with its connection; then a subscriber is this late, but misses nothing. */
const POLL_MS = 5000;

export interface FeedFollower {
  /**
   * Yields records after `after`, ascending by position, for one token or all. Without `after`, from the
   * feed's end at the moment of the call. Ends when `signal` aborts.
   */
  follow(options: FollowOptions): AsyncGenerator<FeedRecord, void, void>;
  start(): Promise<void>;
  close(): void;
}

interface FollowOptions {
  tokenAddress: string | null;
  after: bigint | null;
  signal: AbortSignal;
}

export function createFeedFollower(deps: { db: Db; feedBell: Doorbell; log: Logger }): FeedFollower {
  const tail = createTail(deps);
  const closing = new AbortController();
  let unlisten: (() => void) | undefined;
  let poll: NodeJS.Timeout | undefined;

  /** Records after `cursor`, from the tail when it reaches back far enough; and how far was looked. */
  async function readPage(cursor: bigint, tokenAddress: string | null) {
    const kept = tail.after(cursor, tokenAddress);
    if (kept) return { records: kept, lookedTo: kept.length < PAGE_SIZE ? tail.end() : cursor };
    // The end is read first: a record committed in between is found by the next look, not skipped.
    const head = await readHead(deps.db);
    const records = await readAfter(deps.db, cursor, tokenAddress, PAGE_SIZE);
    return { records, lookedTo: records.length < PAGE_SIZE ? head : cursor };
  }

  async function* follow(options: FollowOptions): AsyncGenerator<FeedRecord, void, void> {
    const signal = AbortSignal.any([options.signal, closing.signal]);
    let cursor = options.after ?? (await readHead(deps.db));
    while (!signal.aborted) {
      const page = await readPage(cursor, options.tokenAddress);
      for (const record of page.records) {
        if (signal.aborted) return;
        cursor = record.position;
        yield record;
      }
      if (page.lookedTo > cursor) cursor = page.lookedTo;
      // Nothing may come between this look at the tail's end and the wait: both are synchronous.
      if (page.records.length === 0 && tail.end() <= cursor) await tail.grown(signal);
    }
  }

  return {
    follow,
    async start() {
      await tail.refresh();
      unlisten = deps.feedBell.onRing(() => void tail.refresh());
      poll = setInterval(() => void tail.refresh(), POLL_MS);
    },
    close() {
      clearInterval(poll);
      unlisten?.();
      closing.abort();
    },
  };
}

/** The newest records: all those with a position in (start, end], `start` being where the oldest begins. */
function createTail(deps: { db: Db; log: Logger }) {
  let records: FeedRecord[] = [];
  let start = 0n;
  let end = -1n;
  let refreshing: Promise<void> | null = null;
  let refreshAgain = false;
  const waiting = new Set<() => void>();

  async function readOn(): Promise<void> {
    if (end < 0n) start = end = await readHead(deps.db);
    for (;;) {
      const fresh = await readAfter(deps.db, end, null, TAIL_SIZE);
      const last = fresh.at(-1);
      if (!last) return;
      records = [...records, ...fresh].slice(-TAIL_SIZE);
      end = last.position;
      start = (records[0]?.position ?? end + 1n) - 1n;
      for (const wake of waiting) wake();
    }
  }

  async function readUntilQuiet(): Promise<void> {
    do {
      refreshAgain = false;
      await readOn().catch((error: unknown) => {
        // The next ring or poll reads on from where this one stopped.
        deps.log.warn({ error: messageOf(error) }, 'feed tail not read');
      });
    } while (refreshAgain);
    refreshing = null;
  }

  return {
    end: () => end,
    /** The kept records after `cursor`, or null when the tail doesn't reach back that far. */
    after(cursor: bigint, tokenAddress: string | null): FeedRecord[] | null {
      if (end < 0n || cursor < start) return null;
      return records.filter((r) => r.position > cursor && matches(r, tokenAddress)).slice(0, PAGE_SIZE);
    },
    /** Calls that come while the table is being read are served by one more read. */
    refresh(): Promise<void> {
      if (refreshing) refreshAgain = true;
      else refreshing = readUntilQuiet();
      return refreshing;
    },
    grown(signal: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
        if (signal.aborted) wake();
      });
    },
  };
}

function matches(record: FeedRecord, tokenAddress: string | null): boolean {
  return tokenAddress === null || record.tokenAddress === tokenAddress;
}

/** The position of the newest record; 0 when there is none. */
export async function readHead(db: Db): Promise<bigint> {
  const [head] = await db.select().from(feedHead);
  return head?.position ?? 0n;
}

function readAfter(
  db: Db,
  cursor: bigint,
  tokenAddress: string | null,
  limit: number,
): Promise<FeedRecord[]> {
  return db
    .select()
    .from(retirementRecords)
    .where(
      and(
        gt(retirementRecords.position, cursor),
        tokenAddress === null ? undefined : eq(retirementRecords.tokenAddress, tokenAddress),
      ),
    )
    .orderBy(asc(retirementRecords.position))
    .limit(limit);
}
