/**
 * The highest final ledger that this platform has seen, stored in the database: every instance, also after a restart,
 * recognises a node that is behind it or on another branch.
 */
import { and, eq, lt, sql, type SQL } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { finalLedger } from '../../db/tables/index.ts';
import type { FinalLedger, UnixSeconds } from './port.ts';

export interface SeenLedgers {
  highest(): FinalLedger | null;
  /**
   * What another instance has stored since: to be compared with the network before it is replaced. Null when there is nothing, and where
   * ledgers have no hash, because numbers say all of them.
   */
  unverified(): FinalLedger | null;
  /**
   * This ledger is final on the network. Stores the highest one noted, with a short delay.
   * @param verified what was unverified when the network was asked, and is there; what came meanwhile is not
   */
  note(final: FinalLedger, verified?: FinalLedger | null): void;
  /**
   * What the network says first after a start of the process. A machine that was put back to a snapshot has the snapshot's clock for a
   * while, and looks as if it had seen the network a moment ago; by the network's own time it has not.
   */
  resume(closedAt: UnixSeconds): Promise<void>;
  /**
   * Takes over what was accepted (acceptLedger), also a lower one.
   * @returns what is stored: the same for all instances
   */
  reread(): Promise<FinalLedger | null>;
}

/** A crash loses at most the ledgers of this interval. */
const WRITE_EVERY_MS = 1000;
/**
 * A running instance notes one every half a minute, however little it does. When none was noted for longer, no instance was running, or
 * the database is a copy from then: the original, with what it signed since, may have ended a moment ago.
 */
const UNSEEN_FOR_SECONDS = 120;
/**
 * A node that is so far behind is believed (MAX_LAG_LEDGERS), and is longer without what has landed; the network's clock may be
 * another than the database's.
 */
const LAG_SECONDS = 90;
/**
 * What lies ahead is of another clock, which says nothing about how long ago it was. A standby that was promoted may have seen the network
 * a moment ago, and not know of the last commits.
 */
const hasBeenUnseen = sql`(${finalLedger.seenAt} NOT BETWEEN now() - make_interval(secs => ${UNSEEN_FOR_SECONDS})
  AND now() + make_interval(secs => ${UNSEEN_FOR_SECONDS})
  OR ${finalLedger.databaseHistory} IS DISTINCT FROM database_history())`;

/** For a network without a database; lasts as long as the process. */
export function seenLedgersInMemory(): SeenLedgers {
  let highest: FinalLedger | null = null;
  return {
    highest: () => highest,
    unverified: () => null,
    note(final) {
      if (highest === null || final.ledger >= highest.ledger) highest = final;
    },
    resume: async () => undefined,
    reread: async () => null,
  };
}

interface Options {
  db: Db;
  log: { warn(fields: object, message: string): void };
  /** Never writes: for tools that only read. */
  isReadOnly?: boolean;
}

/** With how often a history was accepted that contradicts what was final before. */
interface StoredLedger extends FinalLedger {
  acceptances: number;
}

/**
 * A stored ledger is replaced by one that is known to follow it: an instance that has compared it with the network alone may do so. Else a
 * ledger that was final would be forgotten unexamined when the chain is rewritten below it.
 *
 * The table must exist.
 */
export async function openSeenLedgers({ db, log, isReadOnly = false }: Options): Promise<SeenLedgers> {
  let stored = await read(db);
  let highest: FinalLedger | null = stored;
  let unverified: StoredLedger | null = null;
  let writing: NodeJS.Timeout | null = null;

  async function write(): Promise<void> {
    const final = highest;
    if (final === null || unverified !== null || (stored !== null && final.ledger <= stored.ledger)) return;
    try {
      if (await advance(db, stored, final)) stored = { ...final, acceptances: stored?.acceptances ?? 0 };
      else meet(await read(db));
    } catch (error) {
      // The next higher one is written instead.
      log.warn({ ledger: final.ledger, err: error }, 'the highest final ledger was not kept');
    }
  }

  /** What is stored is not what this instance has read or written last. */
  function meet(found: StoredLedger | null): void {
    if (found === null || isAccepted(found)) takeOver(found);
    else if (found.hash === null) {
      stored = found;
      if (highest === null || found.ledger > highest.ledger) highest = found;
    } else unverified = found;
  }

  const isAccepted = ({ acceptances }: StoredLedger) => acceptances > (stored?.acceptances ?? 0);

  function takeOver(found: StoredLedger | null): void {
    stored = found;
    highest = found ?? highest;
    unverified = null;
  }

  return {
    highest: () => highest,
    unverified: () => unverified,
    note(final, verified = null) {
      if (unverified !== null && unverified === verified) {
        stored = unverified;
        if (highest === null || unverified.ledger > highest.ledger) highest = unverified;
        unverified = null;
      }
      if (highest !== null && final.ledger < highest.ledger) return;
      highest = final;
      if (isReadOnly || writing !== null || final.ledger <= (stored?.ledger ?? -1n)) return;
      writing = setTimeout(() => {
        writing = null;
        void write();
      }, WRITE_EVERY_MS).unref();
    },
    async resume(closedAt) {
      if (isReadOnly) return;
      const isOld = lt(finalLedger.closedAt, closedAt - BigInt(UNSEEN_FOR_SECONDS));
      await db
        .update(finalLedger)
        .set({ resumedAt: sql`now()` })
        .where(isOld);
    },
    async reread() {
      const found = await read(db);
      if (found !== null && isAccepted(found)) takeOver(found);
      return found;
    },
  };
}

async function read(db: Db): Promise<StoredLedger | null> {
  const { ledger, hash, acceptances } = finalLedger;
  const [row] = await db.select({ ledger, hash, acceptances }).from(finalLedger);
  return row ?? null;
}

/** @returns whether `before` was still what is stored */
async function advance(db: Db, before: StoredLedger | null, final: FinalLedger): Promise<boolean> {
  if (before === null) {
    return (await db.insert(finalLedger).values(rowOf(final)).onConflictDoNothing().returning()).length > 0;
  }
  const { ledger, hash, acceptances } = finalLedger;
  const isBefore = and(
    eq(ledger, before.ledger),
    sql`${hash} IS NOT DISTINCT FROM ${before.hash}`,
    eq(acceptances, before.acceptances),
  );
  return (await db.update(finalLedger).set(nextOf(final)).where(isBefore).returning()).length > 0;
}

/**
 * Replaces what was seen with this ledger: every instance believes the history that ends with it once the transaction is committed.
 * @returns what was seen until then
 */
export async function acceptLedger(
  db: Pick<Tx, 'select' | 'insert'>,
  final: FinalLedger,
): Promise<FinalLedger | null> {
  const { ledger, hash } = finalLedger;
  const [replaced] = await db.select({ ledger, hash }).from(finalLedger).for('update');
  const acceptances = sql`${finalLedger.acceptances} + 1`;
  await db
    .insert(finalLedger)
    .values({ ...rowOf(final), acceptances: 1 })
    .onConflictDoUpdate({ target: finalLedger.singleton, set: { ...nextOf(final), acceptances } });
  return replaced ?? null;
}

/** Why nothing is signed, or given up, while `mayLandUnseen`. */
export const MAY_LAND_UNSEEN =
  'transactions that this database has lost may still land, and can not be seen until they do; the wait for them ends after some three minutes';

/**
 * Whether what a lost history of this database has signed may land without having shown: nothing that it knows of says so.
 * @param seconds how long what is signed can land
 */
export function mayLandUnseen(seconds: number): SQL<boolean> {
  // By a ledger that was seen after that time: a node that stands still does not show what has landed.
  const isSince = sql`${finalLedger.seenAt} < ${finalLedger.resumedAt} + make_interval(secs => ${seconds + LAG_SECONDS})`;
  return sql<boolean>`EXISTS (SELECT 1 FROM ${finalLedger} WHERE ${hasBeenUnseen} OR ${isSince})`;
}

function rowOf({ ledger, hash, closedAt }: FinalLedger) {
  return {
    ledger,
    hash,
    closedAt: closedAt ?? null,
    seenAt: sql`now()`,
    databaseHistory: sql`database_history()`,
  };
}

function nextOf(final: FinalLedger) {
  const resumedAt = sql`CASE WHEN ${hasBeenUnseen} THEN now() ELSE ${finalLedger.resumedAt} END`;
  return { ...rowOf(final), resumedAt };
}
