/**
 * Follows the feed: replays the records after a cursor, then continues live, without gap or repeat.
 *
 * Pull-based: a subscriber asks for the next record when its last one was flushed, and reads it from the table, or
 * from a tail of the newest records that all subscribers share. Nothing is queued per subscriber, so a subscriber that
 * never reads costs one iterator and does not slow the others.
 */
import { and, asc, eq, getTableColumns, gt, lte, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import type { ChangeSignal } from '../db/changeSignal.ts';
import { feedHead, projects, retirementRecords } from '../db/tables/index.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import {
  conditionOf,
  matches,
  namesFew,
  type FeedFilter,
  type FeedRecord,
  type PlacedRecord,
} from './feedFilter.ts';

export type { FeedRecord };

/** Rows read at once per replaying subscriber: its whole memory. */
const PAGE_SIZE = 50;
/** The newest records, kept once per instance, so that live subscribers need no query each. */
const TAIL_SIZE = 1000;
/** Positions looked through at once for a filter that few records match: bounds one statement. */
const WINDOW = 5_000n;
/** A notification may be lost with its connection; the subscriber then gets the record this late. */
const POLL_MS = 5000;

export interface FeedFollower {
  /**
   * Yields the records after `after` that match, ascending by position. Without `after`, from the feed's end at the moment
   * of the call. Ends when `signal` aborts.
   */
  follow(options: FollowOptions): AsyncGenerator<FeedRecord, void, void>;
  start(): Promise<void>;
  close(): void;
}

interface FollowOptions {
  filter: FeedFilter;
  after: bigint | null;
  signal: AbortSignal;
}

export function createFeedFollower(deps: { db: Db; feedSignal: ChangeSignal; log: Logger }): FeedFollower {
  const tail = createTail(deps);
  const closing = new AbortController();
  let unlisten: (() => void) | undefined;
  let poll: NodeJS.Timeout | undefined;

  /** Records after `cursor` (from the tail when it reaches back that far), and the position up to which was read. */
  async function readPage(cursor: bigint, filter: FeedFilter) {
    const kept = tail.after(cursor, filter);
    if (kept) return { records: kept, lookedTo: kept.length < PAGE_SIZE ? tail.end() : cursor };
    // The end is read first, so a record committed in between is found by the next read.
    const head = await readHead(deps.db);
    const end = namesFew(filter) && cursor + WINDOW < head ? cursor + WINDOW : head;
    const condition = and(lte(retirementRecords.position, end), conditionOf(filter));
    const records = await readAfter(deps.db, cursor, condition, PAGE_SIZE);
    return { records, lookedTo: records.length < PAGE_SIZE ? end : cursor };
  }

  async function* follow(options: FollowOptions): AsyncGenerator<FeedRecord, void, void> {
    // Two signals, not one made of both: those take most of a subscriber's memory.
    const isOver = () => options.signal.aborted || closing.signal.aborted;
    let cursor = options.after ?? (await readHead(deps.db));
    while (!isOver()) {
      const page = await readPage(cursor, options.filter);
      for (const record of page.records) {
        if (isOver()) return;
        cursor = record.position;
        yield record;
      }
      if (page.lookedTo > cursor) cursor = page.lookedTo;
      // This check of the tail's end and the start of the wait are one synchronous step: no record comes in between.
      if (page.records.length === 0 && tail.end() <= cursor && !isOver()) await tail.grown(options.signal);
    }
  }

  return {
    follow,
    async start() {
      await tail.refresh();
      unlisten = deps.feedSignal.onNotify(() => void tail.refresh());
      poll = setInterval(() => void tail.refresh(), POLL_MS);
    },
    close() {
      clearInterval(poll);
      unlisten?.();
      closing.abort();
      tail.wakeAll();
    },
  };
}

/** The newest records: all with a position in (start, end]. */
function createTail(deps: { db: Db; log: Logger }) {
  let records: PlacedRecord[] = [];
  let start = 0n;
  let end = -1n;
  let refreshing: Promise<void> | null = null;
  let refreshAgain = false;
  const waiting = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of waiting) wake();
  };

  async function readOn(): Promise<void> {
    if (end < 0n) start = end = await readHead(deps.db);
    for (;;) {
      const fresh = await readAfter(deps.db, end, undefined, TAIL_SIZE);
      const last = fresh.at(-1);
      if (!last) return;
      records = [...records, ...fresh].slice(-TAIL_SIZE);
      end = last.position;
      start = (records[0]?.position ?? end + 1n) - 1n;
      wakeAll();
    }
  }

  async function readUntilQuiet(): Promise<void> {
    do {
      refreshAgain = false;
      await readOn().catch((error: unknown) => {
        // The next notification or poll continues from here.
        deps.log.warn({ error: messageOf(error) }, 'feed tail not read');
      });
    } while (refreshAgain);
    refreshing = null;
  }

  return {
    end: () => end,
    wakeAll,
    /** The kept records after `cursor`, or null when the tail doesn't reach back that far. */
    after(cursor: bigint, filter: FeedFilter): FeedRecord[] | null {
      if (end < 0n || cursor < start) return null;
      const found: FeedRecord[] = [];
      for (let i = firstAfter(records, cursor); i < records.length && found.length < PAGE_SIZE; i++) {
        const record = records[i];
        if (record !== undefined && matches(filter, record)) found.push(record);
      }
      return found;
    },
    /** Calls during a read are served by one more read. */
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

/** The index of the first record after `cursor`: every subscriber asks this for every event. */
function firstAfter(records: readonly FeedRecord[], cursor: bigint): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((records[middle]?.position ?? cursor) <= cursor) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The position of the newest record; 0 when there is none. */
export async function readHead(db: Db): Promise<bigint> {
  const [head] = await db.select().from(feedHead);
  return head?.position ?? 0n;
}

function readAfter(
  db: Db,
  cursor: bigint,
  condition: SQL | undefined,
  limit: number,
): Promise<PlacedRecord[]> {
  const { countryCode, vintageYear } = projects;
  return db
    .select({ ...getTableColumns(retirementRecords), countryCode, vintageYear })
    .from(retirementRecords)
    .innerJoin(projects, eq(projects.id, retirementRecords.projectId))
    .where(and(gt(retirementRecords.position, cursor), condition))
    .orderBy(asc(retirementRecords.position))
    .limit(limit);
}
