/**
 * Follows rows (a retirement, a project, …) as they change: the row as it is, then again after each change,
 * until the row has ended.
 *
 * All subscribers of an instance share its reads: rows notified at the same time are read together, and the
 * change signal comes from every instance. Each subscriber pulls the newest row, so an idle one holds
 * only its iterator, and may miss a state that was soon replaced.
 */
import type { ChangeSignal } from '../../db/changeSignal.ts';
import type { Db } from '../../db/connection.ts';
import { chunksOf } from '../../lib/chunksOf.ts';
import type { Logger } from '../../lib/logger.ts';

/** A kind of rows that subscribers follow. */
export interface FollowedKind<Row extends { id: string }> {
  findMany(deps: { db: Db }, ids: readonly string[]): Promise<ReadonlyMap<string, Row>>;
  hasEnded(row: Row): boolean;
  /** Columns of the platform's own work, whose changes are not shown. */
  hidden: readonly (keyof Row)[];
}

export interface ChangeFollower {
  /** @param row as the caller has just read it. The iterator also ends when `signal` aborts. */
  follow<Row extends { id: string }>(
    kind: FollowedKind<Row>,
    row: Row,
    signal: AbortSignal,
  ): AsyncGenerator<Row, void, void>;
  start(): void;
  close(): void;
}

/** All rows are read this often: a notification may be lost with the instance that had to send it. */
const POLL_ALL_MS = 5_000;
/** Maximum rows of one statement. */
const MAX_READ_TOGETHER = 500;

/** One followed row, shared by all its subscribers. */
interface Followed {
  id: string;
  kind: FollowedKind<{ id: string }>;
  /** The newest read of the row; null before the first. */
  newest: { row: { id: string }; shown: string; round: number } | null;
  wakes: Set<() => void>;
}

interface Shared {
  followed: Map<string, Followed>;
  /** Reads these ids soon, together with the others that are due. */
  poll(ids: Iterable<string>): void;
  /** Numbers the reads, which run one after another: a later one never shows an older state. */
  round(): number;
  isClosed(): boolean;
  close(): void;
}

export function createChangeFollower(deps: {
  db: Db;
  stateSignal: Pick<ChangeSignal, 'onNotify'>;
  log: Logger;
}): ChangeFollower {
  const shared = createSharedReads(deps.db, deps.log);
  const { followed, poll } = shared;
  let stopListening: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    follow: ((kind: Followed['kind'], first: { id: string }, signal: AbortSignal) =>
      follow(shared, kind, first, signal)) as unknown as ChangeFollower['follow'],
    start() {
      stopListening = deps.stateSignal.onNotify((key) => {
        if (key === null) poll(followed.keys());
        else if (followed.has(key)) poll([key]);
      });
      timer = setInterval(() => poll(followed.keys()), POLL_ALL_MS).unref();
    },
    close() {
      clearInterval(timer);
      stopListening?.();
      shared.close();
      for (const { wakes } of followed.values()) for (const wake of wakes) wake();
    },
  };
}

function createSharedReads(db: Db, log: Logger): Shared {
  const followed = new Map<string, Followed>();
  const due = new Set<string>();
  let isClosed = false;
  let round = 0;
  let reading = false;

  function poll(ids: Iterable<string>): void {
    for (const id of ids) due.add(id);
    if (reading || due.size === 0) return;
    reading = true;
    void readDue().finally(() => {
      reading = false;
    });
  }

  /** Ids that become due during a round are read in the next one. */
  async function readDue(): Promise<void> {
    while (due.size > 0 && !isClosed) {
      round += 1;
      const entries = [...due].flatMap((id) => followed.get(id) ?? []);
      due.clear();
      for (const kind of new Set(entries.map((entry) => entry.kind))) {
        const alike = entries.filter((entry) => entry.kind === kind);
        for (const together of chunksOf(alike, MAX_READ_TOGETHER)) {
          await readTogether(db, kind, together, round).catch((error: unknown) => {
            // The next read of all followed rows reads these again.
            log.warn({ err: error }, 'followed rows not read');
          });
        }
      }
    }
  }

  return {
    followed,
    poll,
    round: () => round,
    isClosed: () => isClosed,
    close() {
      isClosed = true;
    },
  };
}

async function readTogether(
  db: Db,
  kind: Followed['kind'],
  entries: readonly Followed[],
  round: number,
): Promise<void> {
  const now = await kind.findMany(
    { db },
    entries.map(({ id }) => id),
  );
  for (const entry of entries) {
    const row = now.get(entry.id);
    if (row === undefined) continue;
    entry.newest = { row, shown: shownOf(kind, row), round };
    for (const wake of entry.wakes) wake();
  }
}

async function* follow(
  { followed, poll, round, isClosed }: Shared,
  kind: Followed['kind'],
  first: { id: string },
  signal: AbortSignal,
): AsyncGenerator<{ id: string }, void, void> {
  yield first;
  if (kind.hasEnded(first)) return;
  const entry = followed.get(first.id) ?? { id: first.id, kind, newest: null, wakes: new Set() };
  followed.set(first.id, entry);
  let wake = () => {};
  const wakeNow = () => wake();
  entry.wakes.add(wakeNow);
  signal.addEventListener('abort', wakeNow);
  // A change since the caller's read may have been notified before this: an older read is not enough.
  const tooOld = round();
  poll([first.id]);
  let given = shownOf(kind, first);
  try {
    while (!signal.aborted && !isClosed()) {
      const { newest } = entry;
      if (newest !== null && newest.round > tooOld && newest.shown !== given) {
        given = newest.shown;
        yield newest.row;
        if (kind.hasEnded(newest.row)) return;
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    signal.removeEventListener('abort', wakeNow);
    entry.wakes.delete(wakeNow);
    if (entry.wakes.size === 0) followed.delete(first.id);
  }
}

function shownOf(kind: Followed['kind'], row: { id: string }): string {
  const hidden: readonly string[] = kind.hidden;
  return JSON.stringify(row, (name, value: unknown) => {
    if (hidden.includes(name)) return undefined;
    return typeof value === 'bigint' ? value.toString() : value;
  });
}
