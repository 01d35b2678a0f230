/**
 * Leases on due rows: `due_at` of a leased row is the end of its lease. The instance that works on a row
 * extends it about twice a second; when the instance dies, the row is due for the others within LEASE_MS.
 *
 * A lease saves work but does not exclude: after a pause longer than LEASE_MS, another instance may have
 * leased or settled the row, and both may have worked on it. Every step on a due row must allow for that. A
 * failed renewal is harmless for the same reason.
 *
 * Renewal changes only rows whose `due_at` is still the value that this instance wrote, so a row that was
 * rescheduled, leased by another instance or made due by an event keeps its new time. Times are the
 * database's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { and, getTableColumns, sql, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Db, Tx } from './connection.ts';
import { TRANSACTION_TIME } from './databaseTime.ts';
import { hotQuery } from './hotQueries.ts';

/** A dead instance's work is taken over within 3 s: an idle worker polls when the first lease ends. */
export const LEASE_MS = 2_500;
const RENEW_EVERY_MS = 500;
/** Most work ends sooner, and its lease is never renewed. A lease survives renewals that are 1.5 s late. */
const RENEW_FROM_AGE_MS = 500;
/** Time between two polls for misdated rows, which are at the end of the index of due times. */
const MISDATED_POLL_MS = 60_000;
/** Maximum rows redated in one statement; the others follow at the next poll. */
const MAX_REDATED = 5_000;

type DueTable = PgTable & { id: PgColumn; dueAt: PgColumn };

export interface Leased {
  id: string;
  dueAt: Date | null;
}

export interface Leases<Row extends Leased> {
  /** Leases at most `limit` due rows, without those that this instance holds already. */
  claim(limit: number): Promise<Row[]>;
  /** Like claim, for rows that meet a condition. */
  claimWhere(condition: SQL | undefined): (limit: number) => Promise<Row[]>;
  /**
   * Milliseconds until a claim has something to do, at most 0 when it has; null when no open row will be due.
   */
  firstDueInMs(): Promise<number | null>;
  /** False once the lease may have ended unrenewed. */
  isHeld(id: string): boolean;
  /** A row that became due while it was held is due when this resolves. Never rejects. */
  release(id: string): Promise<void>;
}

/** The end of a lease that begins now. */
const leaseEnd = sql`${TRANSACTION_TIME} + make_interval(secs => ${LEASE_MS / 1000})`;

interface LeaseOptions {
  /**
   * The condition of open rows; an index over their due times should match it. Constants belong in its text:
   * with parameters, a plan that is kept could not use the index.
   */
  isOpen: SQL;
  /**
   * The condition of open rows that are due later than any delay lasts: the database's clock was set back,
   * for example by a failover to a server with another time. These rows are made due.
   */
  isMisdated: SQL;
  /** The time of other work of a claim, which no row shows. */
  alsoDueAt?: SQL;
  onError: (error: unknown) => void;
}

/** @param options `onError` gets failed renewals and releases, which are harmless (see above) */
export function createLeases<Table extends DueTable>(
  db: Db,
  table: Table,
  { isOpen, isMisdated, alsoDueAt, onError }: LeaseOptions,
): Leases<Table['$inferSelect'] & Leased> {
  type Row = Table['$inferSelect'] & Leased;
  const firstDueInMs = prepareFirstDue(db, table, isOpen, alsoDueAt);
  const redate = createRedating(db, table, and(isOpen, isMisdated));
  const held = holdRows(db, table, isOpen, onError);

  function claimWhere(condition?: SQL): (limit: number) => Promise<Row[]> {
    const leaseDue = prepareClaim<Row>(db, table, and(isOpen, condition));
    return async (limit) => {
      await redate();
      const leasedAtMs = performance.now();
      const claimed = await leaseDue(db, { limit });
      // A held row can be due after a pause of the process, or when an event comes before the release.
      const fresh = claimed.filter(({ id }) => !held.has(id));
      for (const row of claimed) held.keep(row, leasedAtMs, held.has(row.id));
      return fresh;
    };
  }

  return {
    claim: claimWhere(),
    claimWhere,
    async firstDueInMs() {
      await redate();
      return firstDueInMs();
    },
    isHeld: held.isHeld,
    release: held.release,
  };
}

interface Held {
  dueAt: Date | null;
  /** The end of the lease, by the monotonic clock. */
  untilMs: number;
  wasClaimedAgain: boolean;
}

/** The leases of this instance, renewed until they are released. */
function holdRows(db: Db, rows: DueTable, isOpen: SQL, onError: (error: unknown) => void) {
  const held = new Map<string, Held>();
  let isRenewing = false;
  let renewal: Promise<void> = Promise.resolve();

  function keep(row: Leased, leasedAtMs: number, wasClaimedAgain = false): void {
    held.set(row.id, { dueAt: row.dueAt, untilMs: leasedAtMs + LEASE_MS, wasClaimedAgain });
    if (!isRenewing) void renewWhileHeld();
  }

  async function renewWhileHeld(): Promise<void> {
    isRenewing = true;
    while (held.size > 0) {
      // Renewal alone does not keep the process alive; the leased work does.
      await delay(RENEW_EVERY_MS, undefined, { ref: false });
      if (held.size > 0) await (renewal = renew().catch(onError));
    }
    isRenewing = false;
  }

  /** One statement for all rows; rows locked by another transaction are renewed next time. */
  async function renew(): Promise<void> {
    const leasedAtMs = performance.now();
    const old = [...held].filter(([, { untilMs }]) => leasedAtMs >= untilMs - LEASE_MS + RENEW_FROM_AGE_MS);
    if (old.length === 0) return;
    const leased = old.map(([id, { dueAt }]) => ({ id, dueAt }));
    const mine = selectUnlocked(db, rows, and(isOpen, areStill(rows, leased)));
    const renewals = await lease(db, rows, mine).returning({ id: rows.id, dueAt: rows.dueAt });
    for (const renewed of renewals as Leased[]) {
      const last = held.get(renewed.id);
      if (last) keep(renewed, leasedAtMs, last.wasClaimedAgain);
    }
  }

  return {
    keep,
    has: (id: string) => held.has(id),
    isHeld: (id: string) => (held.get(id)?.untilMs ?? 0) > performance.now(),
    async release(id: string) {
      // The renewal's answer has the present end of the lease.
      if (held.get(id)?.wasClaimedAgain) await renewal;
      const last = held.get(id);
      held.delete(id);
      // Otherwise the row, which an event made due, would wait for the end of an unused lease.
      if (!last?.wasClaimedAgain) return;
      await makeDue(db, rows, and(isOpen, areStill(rows, [{ id, ...last }]))).catch(onError);
    },
  };
}

/**
 * The rows that still have the due time of their lease. The condition has two values for any number of rows:
 * its text stays the same, and the rows stay locked for a short time.
 */
function areStill(rows: DueTable, leased: readonly Leased[]): SQL {
  const ids = `{${leased.map(({ id }) => id).join(',')}}`;
  const ends = `{${leased.map(({ dueAt }) => dueAt?.toISOString() ?? 'NULL').join(',')}}`;
  return sql`(${rows.id}, ${rows.dueAt}) IN (SELECT * FROM unnest(${ids}::uuid[], ${ends}::timestamptz[]))`;
}

/** @returns a function that makes misdated rows due, unless it has just looked for them */
function createRedating(db: Db, rows: DueTable, misdated: SQL | undefined): () => Promise<void> {
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - lookedAtMs < MISDATED_POLL_MS) return;
    lookedAtMs = performance.now();
    const found = selectUnlocked(db, rows, misdated).limit(MAX_REDATED);
    await makeDue(db, rows, sql`${rows.id} = ANY (ARRAY(${found}))`);
  };
}

async function makeDue(db: Db, rows: DueTable, condition: SQL | undefined): Promise<void> {
  await db
    .update(rows)
    .set({ dueAt: sql`now()` })
    .where(condition);
}

function prepareClaim<Row>(db: Db, rows: DueTable, condition: SQL | undefined) {
  const due = selectUnlocked(db, rows, and(condition, sql`${rows.dueAt} <= now()`));
  const claim = lease(db, rows, due.limit(sql.placeholder('limit'))).returning();
  return hotQuery<Row>(claim, getTableColumns(rows));
}

/** Builds the text once: this is the most frequent query of an idle instance. */
function prepareFirstDue(db: Db, rows: DueTable, isOpen: SQL, alsoDueAt = sql`NULL`) {
  const firstDue = db
    .select({
      inMs: sql<
        number | null
      >`(extract(epoch FROM least(min(${rows.dueAt}), ${alsoDueAt}) - now()) * 1000)::float8`,
    })
    .from(rows)
    .where(isOpen)
    .prepare('first_due');
  return async () => (await firstDue.execute())[0]?.inMs ?? null;
}

interface Rescheduling {
  /** Null when only an event makes the row due again. */
  delayMs: number | null;
  /** Columns changed in the same statement. */
  values?: Record<string, unknown>;
}

/** Makes an open row due after a delay. Ends its lease, whichever instance holds it. */
export async function reschedule<Table extends DueTable>(
  db: Db | Tx,
  table: Table,
  { id, isOpen }: { id: string; isOpen?: SQL | undefined },
  { delayMs, values }: Rescheduling,
): Promise<void> {
  const rows: DueTable = table;
  await db
    .update(rows)
    .set({
      ...values,
      dueAt: delayMs === null ? null : sql`now() + make_interval(secs => ${delayMs / 1000})`,
    })
    .where(and(sql`${rows.id} = ${id}`, isOpen));
}

/** The rows that no other transaction has locked, the longest due first. */
function selectUnlocked(db: Db, rows: DueTable, condition: SQL | undefined) {
  return db
    .select({ id: rows.id })
    .from(rows)
    .where(condition)
    .orderBy(rows.dueAt)
    .for('no key update', { skipLocked: true })
    .$dynamic();
}

function lease(db: Db, rows: DueTable, chosen: ReturnType<typeof selectUnlocked>) {
  return db
    .update(rows)
    .set({ dueAt: leaseEnd })
    .where(sql`${rows.id} = ANY (ARRAY(${chosen}))`);
}
