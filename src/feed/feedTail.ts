/**
 * The feed's newest records, kept once for all subscribers of an instance, and the list of waiting ones.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { between } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import type { PublicReads } from '../db/publicReads.ts';
import { retirementRecords } from '../db/tables/index.ts';
import type { Logger } from '../lib/logger.ts';
import { freshSingleFlight } from '../lib/singleFlight.ts';
import { feedCursor } from './feedCursor.ts';
import { matches, type FeedFilter, type FeedRecord, type PlacedRecord } from './feedFilter.ts';
import type { FeedPage, Waiter } from './feedReader.ts';
import { haveChanged, PAGE_SIZE, readNewest, readPage } from './readFeed.ts';

/** The newest records, kept once per instance, so that live subscribers need no query each. */
const TAIL_SIZE = 1000;

interface TailDependencies {
  db: Db;
  publicReads: PublicReads;
  log: Pick<Logger, 'warn'>;
}

const LOST = 'the database has lost records of the feed: the subscriptions to it end';

/** The newest records: all with a position from the first one's up to `end`. */
export function createTail(deps: TailDependencies) {
  let records: PlacedRecord[] = [];
  let end = -1n;
  let history = 0;
  const pageAfter = createPages();
  const ends = createEnds(deps.publicReads.maxAgeMs);
  const waiting = createWaiting();
  // After a failed read, the next notification or poll continues from the same place.
  const refresh = freshSingleFlight(() => readOn().catch(warnOf(deps, 'feed tail not read')));

  async function readOn(): Promise<void> {
    if (end < 0n) {
      const newest = await readNewest(deps.db);
      // After a failed first read, subscribers are waiting already.
      grow(newest === null ? [] : [newest]);
    }
    for (;;) {
      const fresh = await readFresh(deps.db, records.at(-1));
      if (fresh === null) {
        forget();
        return readOn();
      }
      if (fresh.length === 0) return;
      grow(fresh);
      if (fresh.length < TAIL_SIZE - 1) return;
    }
  }

  function grow(fresh: readonly PlacedRecord[]): void {
    records = [...records, ...fresh].slice(-TAIL_SIZE);
    const last = records.at(-1) ?? null;
    end = last?.position ?? 0n;
    ends.note(last);
    waiting.wakeAll();
  }

  /**
   * Ends all subscriptions, when the next read wakes them. Their clients resume, and a cursor whose record was
   * lost is refused.
   */
  function forget(): void {
    deps.log.warn({ position: String(end) }, LOST);
    records = [];
    end = -1n;
    history += 1;
    ends.forget();
  }

  return {
    tailEnd: () => end,
    history: () => history,
    ...waiting,
    pageOfTail(cursor: bigint, filter: FeedFilter): FeedPage | null {
      const [first] = records;
      return first && cursor < first.position - 1n ? null : pageAfter({ records, end }, cursor, filter);
    },
    endBefore: ends.before,
    refresh,
    /** Reads the feed's end, and the records that are new or have changed. */
    async poll(): Promise<void> {
      await refresh();
      const changed = await readChanged(deps.db, records).catch(warnOf(deps, 'feed not looked at'));
      if (changed) records = records.map((record) => changed.get(record.position) ?? record);
    },
  };
}

/**
 * Reads the records after the last one, and the last one again: null when it is another record or missing,
 * because the records that follow then belong to another history.
 */
async function readFresh(db: Db, last: PlacedRecord | undefined): Promise<PlacedRecord[] | null> {
  if (last === undefined) return readPage(db, 0n, TAIL_SIZE);
  const [again, ...fresh] = await readPage(db, last.position - 1n, TAIL_SIZE);
  return again && feedCursor(again) === feedCursor(last) ? fresh : null;
}

function warnOf({ log }: Pick<TailDependencies, 'log'>, problem: string): (error: unknown) => void {
  return (error) => log.warn({ err: error }, problem);
}

/**
 * The kept records as the table has them now; null when none has changed. Hashes are completed later, and
 * dates are read again after a rollback: a client that resumes must get them from the tail, too.
 */
async function readChanged(
  db: Db,
  kept: readonly PlacedRecord[],
): Promise<ReadonlyMap<bigint, PlacedRecord> | null> {
  const [first, last] = [kept[0], kept.at(-1)];
  if (!first || !last) return null;
  const those = between(retirementRecords.position, first.position, last.position);
  if (!(await haveChanged(db, kept, those))) return null;
  const records = await readPage(db, first.position - 1n, kept.length);
  return new Map(records.map((record) => [record.position, record]));
}

/**
 * The subscribers that wait for the feed to grow. Each keeps its index, which costs less than a large set.
 */
export function createWaiting() {
  let waiting: Waiter[] = [];
  const waits = (waiter: Waiter) => waiting[waiter.place] === waiter;
  return {
    wakeAll(): void {
      const woken = waiting;
      // A subscriber that waits again joins a new list: in the same list it would be woken for ever.
      waiting = [];
      for (const waiter of woken) waiter.wake();
    },
    onceGrown(waiter: Waiter): void {
      if (waits(waiter)) return;
      waiter.place = waiting.length;
      waiting.push(waiter);
    },
    stopWaiting(waiter: Waiter): boolean {
      if (!waits(waiter)) return false;
      const last = waiting.pop();
      if (last !== undefined && last !== waiter) {
        waiting[waiter.place] = last;
        last.place = waiter.place;
      }
      return true;
    },
  };
}

/** The feed's newest record as of `ageMs` ago, as far as this instance knows. */
function createEnds(ageMs: number) {
  let ends: { atMs: number; end: PlacedRecord | null }[] = [];
  const indexOfOld = () => ends.findLastIndex(({ atMs }) => atMs <= performance.now() - ageMs);
  return {
    note(end: PlacedRecord | null): void {
      ends.push({ atMs: performance.now(), end });
      ends = ends.slice(Math.max(indexOfOld(), 0));
    },
    forget(): void {
      ends = [];
    },
    /** Soon after the start, waits until the first noted end is `ageMs` old. */
    async before(): Promise<PlacedRecord | null> {
      const [first] = ends;
      if (first && indexOfOld() < 0) await delay(first.atMs + ageMs - performance.now() + 1);
      return ends[Math.max(indexOfOld(), 0)]?.end ?? null;
    },
  };
}

/** Pages of kept records. The last one is cached, because thousands of subscribers ask for it in turn. */
function createPages() {
  let last:
    { records: readonly PlacedRecord[]; cursor: bigint; filter: FeedFilter; page: FeedPage } | undefined;
  return (
    { records, end }: { records: readonly PlacedRecord[]; end: bigint },
    cursor: bigint,
    filter: FeedFilter,
  ): FeedPage => {
    if (last?.records === records && last.cursor === cursor && last.filter === filter) return last.page;
    const page: FeedRecord[] = [];
    for (let i = firstAfter(records, cursor); i < records.length && page.length < PAGE_SIZE; i++) {
      const record = records[i];
      if (record !== undefined && matches(filter, record)) page.push(record);
    }
    last = {
      records,
      cursor,
      filter,
      page: { records: page, lookedTo: page.length < PAGE_SIZE ? end : cursor },
    };
    return last.page;
  };
}

/** The index of the first record after `cursor`: computed, because every subscriber asks for every event. */
function firstAfter(records: readonly FeedRecord[], cursor: bigint): number {
  const [first] = records;
  if (first === undefined) return 0;
  let index = Math.min(Number(cursor - first.position) + 1, records.length);
  // Positions have no gaps; if a restored database has one, an event would be left out without this loop.
  while ((records[index - 1]?.position ?? cursor) > cursor) index -= 1;
  return index;
}
