/**
 * The highest final ledger that this platform has seen, stored in the database. Every instance, also after a
 * restart, recognises by it a node that is behind or on another branch.
 */
import { and, eq, lt, sql, type SQL } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { finalLedger } from '../../db/tables/index.ts';
import type { FinalLedger, UnixSeconds } from './port.ts';

export interface SeenLedgers {
  highest(): FinalLedger | null;
  /**
   * A ledger that another instance has stored since, to be compared with the network before it is replaced.
   * Null if there is none, and for ledgers without a hash, whose numbers suffice.
   */
  unverified(): FinalLedger | null;
  /**
   * Records that this ledger is final on the network. Stores the highest recorded one, with a short delay.
   * @param verified the ledger that was `unverified` before the network was asked, if the network has it
   */
  note(final: FinalLedger, verified?: FinalLedger | null): void;
  /**
   * Called with the first close time that the network reports after a start of the process. A machine put
   * back to a snapshot has the snapshot's clock for a while, by which the network was seen a moment ago; the
   * network's own time shows the gap.
   */
  resume(closedAt: UnixSeconds): Promise<void>;
  /**
   * Adopts an accepted ledger (acceptLedger), even if it is lower.
   * @returns the stored ledger, which is the same for all instances
   */
  reread(): Promise<FinalLedger | null>;
}

/** A crash loses at most the ledgers of this interval. */
const WRITE_EVERY_MS = 1000;
/**
 * A running instance records a ledger every half a minute, however little it does. After a longer gap, no
 * instance was running, or the database is a copy from then: the original, with later signatures, may have
 * ended a moment ago.
 */
const UNSEEN_FOR_SECONDS = 120;
/**
 * Extra wait: a node that is up to MAX_LAG_LEDGERS behind is believed, and shows landed transactions later by
 * as much; the network's clock may also differ from the database's.
 */
const LAG_SECONDS = 90;
/**
 * True if no recent sighting is proved. A time in the future comes from another clock, and does not say how
 * long ago it was. A promoted standby may have seen the network a moment ago, but lack the last commits.
 */
const hasBeenUnseen = sql`(${finalLedger.seenAt} NOT BETWEEN now() - make_interval(secs => ${UNSEEN_FOR_SECONDS})
  AND now() + make_interval(secs => ${UNSEEN_FOR_SECONDS})
  OR ${finalLedger.databaseHistory} IS DISTINCT FROM database_history())`;

/** Seen ledgers of a network without a database, kept in memory by this process. */
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
  /** Never writes, for tools that only read. */
  isReadOnly?: boolean;
}

/**
 * With the number of times that a history was accepted although it contradicts the one that was final before.
 */
interface StoredLedger extends FinalLedger {
  acceptances: number;
}

/**
 * Only an instance that has compared the stored ledger with the network may replace it, with one that follows
 * it. Otherwise, when the chain is rewritten below a final ledger, that ledger would be forgotten unexamined.
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
      // The next higher ledger is written instead.
      log.warn({ ledger: final.ledger, err: error }, 'the highest final ledger was not kept');
    }
  }

  /** Handles a stored ledger that this instance has neither read nor written last. */
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

/** @returns whether `before` was still the stored ledger */
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
 * Replaces the seen ledger with this one. Once the transaction is committed, every instance believes the
 * history that ends with it.
 * @returns the ledger seen before
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

/** The reason why nothing is signed or given up during `mayLandUnseen`. */
export const MAY_LAND_UNSEEN =
  'transactions that this database has lost may still land, and can not be seen until they do; the wait for them ends after some three minutes';

/**
 * Whether transactions that a lost history of this database has signed may still land. Nothing in the
 * database shows them.
 * @param seconds how long a signed transaction can land
 */
export function mayLandUnseen(seconds: number): SQL<boolean> {
  // The wait ends with a ledger seen after that time: a node that stands still does not show landed
  // transactions.
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
