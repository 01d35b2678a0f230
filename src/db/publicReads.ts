/**
 * Sends public reads to a replica that is fresh enough, else to the primary.
 *
 *   each second: notes the primary's place in its log and the time, and asks each replica for its place
 *   fresh as of = the time of the latest noted place that the replica has passed
 *
 * So staleness is known without a write and without comparing clocks, also when nothing is written. A replica
 * that can't be asked becomes stale.
 */
import { innermostMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { DatabaseHandle, Db } from './connection.ts';
import { isTransient } from './transientFailures.ts';

export interface PublicReads {
  /** Reads data that may be some seconds old. When the replica fails, `work` runs again on the primary. */
  run<T>(work: (db: Db, isReplica: boolean) => Promise<T>): Promise<T>;
  /** Maximum age of an answer; 0 without replicas. */
  maxAgeMs: number;
  /** The state of each replica; empty without replicas. */
  replicas(): readonly ReplicaState[];
  /** Number of reads that the replicas and the primary have served. */
  served(): { replica: number; primary: number };
  close(): Promise<void>;
}

interface ReplicaState {
  /** `host:port`. */
  name: string;
  /** Why the replica is not used; null when it is fresh enough. */
  obstacle: string | null;
  /**
   * Maximum age of the replica's data. Null until the replica has passed a noted place of the primary: at
   * first, and again after each distrust.
   */
  lagMs: number | null;
}

/** A place in the primary's log. Everything committed before `atMs` is in front of it. */
interface Mark {
  atMs: number;
  place: bigint;
  cluster: string;
  timeline: number;
}

/** Staleness is known to this precision; each poll is one small statement on each server. */
const POLL_INTERVAL_MS = 1_000;

const PRIMARY_PLACE = `SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::text AS place,
  ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int AS timeline,
  (SELECT system_identifier::text FROM pg_control_system()) AS cluster`;
/**
 * The timeline is that of the replica's last restart point: after a failover the replica may be unused for
 * some minutes, but the timeline is never wrong.
 */
const REPLICA_PLACE = `SELECT pg_is_in_recovery() AS "isStandby",
  pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::text AS place,
  (SELECT min_recovery_end_timeline FROM pg_control_recovery()) AS timeline,
  (SELECT system_identifier::text FROM pg_control_system()) AS cluster`;

/** Reads from the primary, without replicas. */
export function readPrimary(db: Db): PublicReads {
  let served = 0;
  return {
    run(work) {
      served += 1;
      return work(db, false);
    },
    maxAgeMs: 0,
    replicas: () => [],
    served: () => ({ replica: 0, primary: served }),
    close: async () => {},
  };
}

interface ReplicaOptions {
  primary: Pick<DatabaseHandle, 'db' | 'sql'>;
  /** The first replica that is fresh enough is used. The handles are closed with the reads. */
  replicas: readonly { name: string; handle: DatabaseHandle }[];
  maxLagMs: number;
  log: Pick<Logger, 'info' | 'warn'>;
}

/** Polls the primary and each replica every second, until `close`. */
export function readReplicas({ primary, replicas: given, maxLagMs, log }: ReplicaOptions): PublicReads {
  const replicas = given.map((one) => createReplica({ ...one, maxLagMs, log }));
  const served = { replica: 0, primary: 0 };
  let marks: Mark[] = [];

  async function poll(): Promise<void> {
    const mark = await markPrimary(primary).catch(() => null);
    if (mark !== null) {
      // A replica's data of an older timeline may never have been in the new one.
      const isPromoted = marks.some(({ timeline }) => timeline !== mark.timeline);
      if (isPromoted) for (const replica of replicas) replica.distrust('another primary was promoted');
      marks = [...marks.filter(({ atMs }) => !isPromoted && atMs >= mark.atMs - maxLagMs), mark];
    }
    for (const replica of replicas) void replica.poll(marks);
  }

  const timer = setInterval(() => void poll(), POLL_INTERVAL_MS);
  timer.unref();
  void poll();

  return {
    async run(work) {
      const replica = replicas.find(({ isUsable }) => isUsable());
      if (replica) {
        try {
          const answer = await work(replica.db, true);
          served.replica += 1;
          return answer;
        } catch (error) {
          if (!isTransient(error)) throw error;
          // The reason is public: it must not be a failed statement's message, with the caller's values.
          replica.distrust(innermostMessage(error));
        }
      }
      served.primary += 1;
      return work(primary.db, false);
    },
    maxAgeMs: maxLagMs,
    replicas: () => replicas.map(({ state }) => state()),
    served: () => ({ ...served }),
    async close() {
      clearInterval(timer);
      await Promise.all(given.map(({ handle }) => handle.close()));
    },
  };
}

type OneReplica = ReplicaOptions['replicas'][number] & Pick<ReplicaOptions, 'maxLagMs' | 'log'>;

function createReplica({ name, handle, maxLagMs, log }: OneReplica) {
  /** By `performance.now()`. */
  let freshAsOfMs = Number.NEGATIVE_INFINITY;
  let problem: string | null = null;
  let isAsked = false;
  /** Number of distrusts: an answer to a poll that began before the last one is ignored. */
  let distrusts = 0;
  let wasUsable = false;
  const lagMs = () => performance.now() - freshAsOfMs;
  const isUsable = () => lagMs() <= maxLagMs;

  function obstacle(): string | null {
    if (isUsable()) return null;
    if (problem !== null) return problem;
    return Number.isFinite(freshAsOfMs) ? `${Math.round(lagMs() / 1000)} s behind` : 'never caught up yet';
  }

  function report(): void {
    if (isUsable() === wasUsable) return;
    wasUsable = !wasUsable;
    if (wasUsable) log.info({ replica: name }, 'public reads may go to the replica');
    else log.warn({ replica: name, reason: obstacle() }, 'public reads do not go to the replica');
  }

  function distrust(reason: string): void {
    distrusts += 1;
    problem = reason;
    freshAsOfMs = Number.NEGATIVE_INFINITY;
    report();
  }

  return {
    db: handle.db,
    isUsable,
    distrust,
    state: (): ReplicaState => ({
      name,
      obstacle: obstacle(),
      lagMs: Number.isFinite(freshAsOfMs) ? lagMs() : null,
    }),
    /** Only one poll runs at a time, so a poll without an answer takes no further connection. */
    async poll(marks: readonly Mark[]): Promise<void> {
      report();
      if (isAsked) return;
      isAsked = true;
      const before = distrusts;
      try {
        const passedAtMs = await readPassed(handle, marks);
        if (distrusts !== before) return;
        problem = null;
        freshAsOfMs = Math.max(freshAsOfMs, passedAtMs);
      } catch (error) {
        // A replica that merely does not answer becomes stale without a distrust.
        if (error instanceof NotComparable) distrust(error.message);
        else problem = innermostMessage(error);
      } finally {
        isAsked = false;
        report();
      }
    },
  };
}

interface Place {
  place: string | null;
  cluster: string;
  timeline: number | null;
}

async function markPrimary({ sql }: Pick<DatabaseHandle, 'sql'>): Promise<Mark> {
  const atMs = performance.now();
  const [row] = (await sql.unsafe(PRIMARY_PLACE)) as unknown as Place[];
  if (!row) throw new Error('the primary gave no place');
  return { atMs, place: BigInt(row.place ?? 0), cluster: row.cluster, timeline: row.timeline ?? 0 };
}

/** The server may not be a replica of the primary at all. */
class NotComparable extends Error {
  override readonly name = 'NotComparable';
}

/** Returns the time of the latest mark that the replica has passed. @throws NotComparable */
async function readPassed({ sql }: DatabaseHandle, marks: readonly Mark[]): Promise<number> {
  const [row] = (await sql.unsafe(REPLICA_PLACE)) as unknown as (Place & { isStandby: boolean })[];
  const newest = marks.at(-1);
  if (!row || !newest) return Number.NEGATIVE_INFINITY;
  if (!row.isStandby || row.place === null) throw new NotComparable('it is no streaming standby');
  if (row.cluster !== newest.cluster) throw new NotComparable('it belongs to another cluster');
  if (row.timeline !== newest.timeline) {
    throw new NotComparable(`it has not shown yet that it follows timeline ${newest.timeline}`);
  }
  const place = BigInt(row.place);
  const passed = marks.filter((mark) => mark.place <= place);
  return Math.max(Number.NEGATIVE_INFINITY, ...passed.map(({ atMs }) => atMs));
}
