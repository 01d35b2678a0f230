/**
 * Follows the feed: replays the records after a cursor, then continues live, without gap or repeat.
 *
 * Pull-based: a subscriber asks for the next record when its last one was flushed, and reads it from the table, or
 * from a tail of the newest records that all subscribers share. Nothing is queued per subscriber, so a subscriber that
 * never reads costs one iterator and does not slow the others.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { and, asc, eq, getTableColumns, gt, lte, type SQL } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import type { PublicReads } from '../db/publicReads.ts';
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
  /**
   * A place in the feed that every public list has reached, whichever replica it is read from: the feed's end without replicas, and else
   * as far as it was before their longest delay.
   */
  endForLists(): Promise<bigint>;
  start(): Promise<void>;
  close(): void;
}

interface FollowOptions {
  filter: FeedFilter;
  after: bigint | null;
  signal: AbortSignal;
}

interface FollowerDependencies {
  db: Db;
  publicReads: PublicReads;
  feedSignal: ChangeSignal;
  log: Logger;
}

export function createFeedFollower(deps: FollowerDependencies): FeedFollower {
  const tail = createTail(deps);
  const closing = new AbortController();
  let unlisten: (() => void) | undefined;
  let poll: NodeJS.Timeout | undefined;

  /** Records after `cursor` (from the tail when it reaches back that far), and the position up to which was read. */
  async function readPage(cursor: bigint, filter: FeedFilter) {
    const kept = tail.after(cursor, filter);
    if (kept) return { records: kept, lookedTo: kept.length < PAGE_SIZE ? tail.end() : cursor };
    const page = await deps.publicReads.run(async (db, isReplica) => ({
      isReplica,
      // One connection, so one replica: another one may not have the records up to the end that this one tells.
      ...(await (isReplica
        ? db.transaction((tx) => readStored(tx, cursor, filter, tail.end()))
        : readStored(db, cursor, filter))),
    }));
    const isEnd = page.records.length === 0 && page.lookedTo <= cursor;
    // Whether a replica's end is the feed's end, only the primary knows.
    return page.isReplica && isEnd ? readStored(deps.db, cursor, filter) : page;
  }

  async function* follow(options: FollowOptions): AsyncGenerator<FeedRecord, void, void> {
    // Two signals, not one made of both: those take most of a subscriber's memory.
    const isOver = () => options.signal.aborted || closing.signal.aborted;
    let wake: (() => void) | undefined;
    // Once for the subscriber: a listener added and removed at each event takes longer than all else that is done for it here.
    options.signal.addEventListener('abort', () => wake?.(), { once: true });
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
      if (page.records.length === 0 && tail.end() <= cursor && !isOver()) {
        await new Promise<void>((resolve) => {
          wake = tail.onceGrown(resolve);
        });
      }
    }
  }

  return {
    follow,
    endForLists: () => (deps.publicReads.maxAgeMs === 0 ? readHead(deps.db) : tail.endBefore()),
    async start() {
      await tail.refresh();
      unlisten = deps.feedSignal.onNotify(() => void tail.refresh());
      poll = setInterval(() => void tail.look(), POLL_MS);
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
function createTail(deps: FollowerDependencies) {
  let records: PlacedRecord[] = [];
  let start = 0n;
  let end = -1n;
  const ends = createEnds(deps.publicReads.maxAgeMs);
  let refreshing: Promise<void> | null = null;
  let refreshAgain = false;
  const waiting = createWaiting();

  async function readOn(): Promise<void> {
    if (end < 0n) {
      start = end = await readHead(deps.db);
      ends.note(end);
    }
    for (;;) {
      const fresh = await readAfter(deps.db, end, undefined, TAIL_SIZE);
      const last = fresh.at(-1);
      if (!last) return;
      records = [...records, ...fresh].slice(-TAIL_SIZE);
      end = last.position;
      start = (records[0]?.position ?? end + 1n) - 1n;
      ends.note(end);
      waiting.wakeAll();
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

  /** Calls during a read are served by one more read. */
  function refresh(): Promise<void> {
    if (refreshing) refreshAgain = true;
    else refreshing = readUntilQuiet();
    return refreshing;
  }

  return {
    end: () => end,
    wakeAll: waiting.wakeAll,
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
    endBefore: ends.before,
    refresh,
    /** Reads on when the feed has grown: while it has not, its end alone is asked for. */
    async look(): Promise<void> {
      try {
        if ((await readHead(deps.db)) > end) await refresh();
      } catch (error) {
        deps.log.warn({ error: messageOf(error) }, 'feed end not read');
      }
    },
    onceGrown: waiting.onceGrown,
  };
}

/** The subscribers that wait for the feed to grow. */
function createWaiting() {
  const waiting = new Set<() => void>();
  return {
    wakeAll(): void {
      for (const wake of waiting) wake();
    },
    /** Calls `then` once: when the tail has grown, or when the function that this returns is called. */
    onceGrown(then: () => void): () => void {
      const wake = () => {
        if (waiting.delete(wake)) then();
      };
      waiting.add(wake);
      return wake;
    },
  };
}

/** Where the feed's end was `ageMs` ago, as far as this instance knows. */
function createEnds(ageMs: number) {
  let ends: { atMs: number; end: bigint }[] = [];
  const indexOfOld = () => ends.findLastIndex(({ atMs }) => atMs <= performance.now() - ageMs);
  return {
    note(end: bigint): void {
      ends.push({ atMs: performance.now(), end });
      ends = ends.slice(Math.max(indexOfOld(), 0));
    },
    /** Soon after the start it waits until it is known. */
    async before(): Promise<bigint> {
      const [first] = ends;
      if (first && indexOfOld() < 0) await delay(first.atMs + ageMs - performance.now() + 1);
      return ends[Math.max(indexOfOld(), 0)]?.end ?? 0n;
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
export async function readHead(db: Db | Tx): Promise<bigint> {
  const [head] = await db.select().from(feedHead);
  return head?.position ?? 0n;
}

/** @param boundary no record beyond it: a replica may show what the primary has not confirmed, and loses in a failover */
async function readStored(db: Db | Tx, cursor: bigint, filter: FeedFilter, boundary?: bigint) {
  // The end is read first, so a record committed in between is found by the next read.
  const stored = await readHead(db);
  const head = boundary !== undefined && boundary < stored ? boundary : stored;
  const end = namesFew(filter) && cursor + WINDOW < head ? cursor + WINDOW : head;
  const condition = and(lte(retirementRecords.position, end), conditionOf(filter));
  const records = await readAfter(db, cursor, condition, PAGE_SIZE);
  return { records, lookedTo: records.length < PAGE_SIZE ? end : cursor };
}

function readAfter(
  db: Db | Tx,
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
