/**
 * The feed's newest records, kept once for all subscribers of an instance, and who waits for it to grow.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { between } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import type { PublicReads } from '../db/publicReads.ts';
import { retirementRecords } from '../db/tables/index.ts';
import type { Logger } from '../lib/logger.ts';
import { matches, type FeedFilter, type FeedRecord, type PlacedRecord } from './feedFilter.ts';
import { haveChanged, PAGE_SIZE, readAfter, readHead } from './readFeed.ts';

/** The newest records, kept once per instance, so that live subscribers need no query each. */
const TAIL_SIZE = 1000;

interface TailDependencies {
  db: Db;
  publicReads: PublicReads;
  log: Pick<Logger, 'warn'>;
}

/** The newest records: all with a position in (start, end]. */
export function createTail(deps: TailDependencies) {
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
      // Where the first read failed, some wait since then.
      waiting.wakeAll();
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
      if (fresh.length < TAIL_SIZE) return;
    }
  }

  async function readUntilQuiet(): Promise<void> {
    do {
      refreshAgain = false;
      // The next notification or poll continues from here.
      await readOn().catch(warnOf(deps, 'feed tail not read'));
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
      return end < 0n || cursor < start ? null : pageAfter(records, cursor, filter);
    },
    endBefore: ends.before,
    refresh,
    /** Reads the feed's end, and the records that are new or have changed. */
    async look(): Promise<void> {
      try {
        const head = await readHead(deps.db);
        if (head > end) await refresh();
        // What follows on its end is no growth of the tail: those who wait there look for themselves.
        else if (head < end) waiting.wakeAll();
        const changed = await readChanged(deps.db, records);
        if (changed) records = records.map((record) => changed.get(record.position) ?? record);
      } catch (error) {
        warnOf(deps, 'feed not looked at')(error);
      }
    },
    onceGrown: waiting.onceGrown,
  };
}

function warnOf({ log }: Pick<TailDependencies, 'log'>, problem: string): (error: unknown) => void {
  return (error) => log.warn({ err: error }, problem);
}

/**
 * The kept records as the table has them now; null when none has changed. Hashes are completed later, and dates taken anew after a
 * rollback: a client that resumes gets them from the tail too.
 */
async function readChanged(
  db: Db,
  kept: readonly PlacedRecord[],
): Promise<ReadonlyMap<bigint, PlacedRecord> | null> {
  const [first, last] = [kept[0], kept.at(-1)];
  if (!first || !last) return null;
  const those = between(retirementRecords.position, first.position, last.position);
  if (!(await haveChanged(db, kept, those))) return null;
  const records = await readAfter(db, first.position - 1n, undefined, kept.length);
  return new Map(records.map((record) => [record.position, record]));
}

/** The subscribers that wait for the feed to grow. */
export function createWaiting() {
  let waiting = new Set<() => void>();
  return {
    wakeAll(): void {
      const woken = waiting;
      // One that waits again while it is woken waits for the next time: in the same set it would be woken for ever.
      waiting = new Set();
      for (const wake of woken) wake();
    },
    /** Calls `then` once: when the tail has grown, or when the function that this returns is called. */
    onceGrown(then: () => void): () => void {
      const among = waiting;
      const wake = () => {
        if (among.delete(wake)) then();
      };
      among.add(wake);
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

function pageAfter(records: readonly PlacedRecord[], cursor: bigint, filter: FeedFilter): FeedRecord[] {
  const page: FeedRecord[] = [];
  for (let i = firstAfter(records, cursor); i < records.length && page.length < PAGE_SIZE; i++) {
    const record = records[i];
    if (record !== undefined && matches(filter, record)) page.push(record);
  }
  return page;
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
