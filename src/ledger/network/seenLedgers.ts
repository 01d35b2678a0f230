/**
 * The highest final ledger that this platform has seen, stored in the database: every instance, also after a restart,
 * recognises a node that is behind it or on another branch.
 */
import { eq, lt, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { finalLedger } from '../../db/tables/index.ts';
import { messageOf } from '../../lib/errors.ts';
import type { FinalLedger } from './port.ts';

export interface SeenLedgers {
  highest(): FinalLedger | null;
  /** Stores the highest ledger noted, with a short delay. */
  note(final: FinalLedger): void;
  /** Takes over what another instance has stored, also a lower one: it was accepted there. */
  reread(): Promise<void>;
  /** Replaces what was seen with this ledger. */
  accept(final: FinalLedger): Promise<void>;
}

/** A crash loses at most the ledgers of this interval. */
const WRITE_EVERY_MS = 1000;

/** For a network without a database; lasts as long as the process. */
export function seenLedgersInMemory(): SeenLedgers {
  let highest: FinalLedger | null = null;
  return {
    highest: () => highest,
    note(final) {
      if (highest === null || final.ledger >= highest.ledger) highest = final;
    },
    reread: async () => {},
    async accept(final) {
      highest = final;
    },
  };
}

interface Options {
  db: Db;
  log: { warn(fields: object, message: string): void };
  /** Never writes: for tools that only read. */
  isReadOnly?: boolean;
}

/** The table must exist. */
export async function openSeenLedgers({ db, log, isReadOnly = false }: Options): Promise<SeenLedgers> {
  let highest = await read(db);
  let written = highest?.ledger ?? -1n;
  let writing: NodeJS.Timeout | null = null;

  async function write(): Promise<void> {
    const final = highest;
    if (final === null || final.ledger <= written) return;
    try {
      await store(db, final, { onlyHigher: true });
      written = final.ledger;
    } catch (error) {
      // The next higher one is written instead.
      log.warn({ ledger: final.ledger, error: messageOf(error) }, 'the highest final ledger was not kept');
    }
  }

  return {
    highest: () => highest,
    note(final) {
      if (highest !== null && final.ledger < highest.ledger) return;
      highest = final;
      if (isReadOnly || writing !== null || final.ledger <= written) return;
      writing = setTimeout(() => {
        writing = null;
        void write();
      }, WRITE_EVERY_MS).unref();
    },
    async reread() {
      const stored = await read(db);
      // What this instance saw but has not written yet is still true.
      if (stored !== null && highest !== null && stored.ledger < highest.ledger && highest.ledger > written)
        return;
      if (stored !== null) highest = stored;
      written = stored?.ledger ?? -1n;
    },
    async accept(final) {
      await store(db, final, { onlyHigher: false });
      highest = final;
      written = final.ledger;
    },
  };
}

async function read(db: Db): Promise<FinalLedger | null> {
  const [row] = await db.select({ ledger: finalLedger.ledger, hash: finalLedger.hash }).from(finalLedger);
  return row ?? null;
}

async function store(db: Db, final: FinalLedger, { onlyHigher }: { onlyHigher: boolean }): Promise<void> {
  const values = { ...final, seenAt: sql`now()` };
  await db
    .insert(finalLedger)
    .values(values)
    .onConflictDoUpdate({
      target: finalLedger.singleton,
      set: values,
      setWhere: onlyHigher ? lt(finalLedger.ledger, final.ledger) : eq(finalLedger.singleton, true),
    });
}
