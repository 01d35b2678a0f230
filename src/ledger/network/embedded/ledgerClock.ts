/**
 * The network's time and its ledger numbers.
 *
 * A ledger's close time is the instance's clock plus the stored offset, but never before the last close
 * time: so time goes on when nobody transacts, all instances agree on an advance by hand, and an instance
 * whose clock is behind can't turn it back.
 */
import { sql } from 'drizzle-orm';
import type { Clock } from '../../../clock.ts';
import type { Db, Tx } from '../../../db/connection.ts';
import type { UnixSeconds } from '../port.ts';
import { ledgerClock } from './tables.ts';

export interface ClosedLedger {
  ledger: bigint;
  closedAt: UnixSeconds;
}

/** The latest ledger; its close time is what it would be if an empty ledger closed right now. */
export async function readLedgerClock(db: Db | Tx, clock: Clock): Promise<ClosedLedger> {
  const [row] = await db.select().from(ledgerClock);
  if (!row) throw new Error('The embedded network has no ledger clock: it was never initialised');
  const now = nowSeconds(clock) + row.offsetSeconds;
  return { ledger: row.sequence, closedAt: now > row.closedAt ? now : row.closedAt };
}

/**
 * Closes the next ledger and holds the clock's row lock until the transaction ends: everything decided
 * after it, in this transaction, is decided while nothing else can land.
 */
export async function closeLedger(tx: Tx, clock: Clock): Promise<ClosedLedger> {
  const [row] = await tx
    .update(ledgerClock)
    .set({
      sequence: sql`${ledgerClock.sequence} + 1`,
      closedAt: sql`greatest(${ledgerClock.closedAt}, ${nowSeconds(clock)}::bigint + ${ledgerClock.offsetSeconds})`,
    })
    .returning();
  if (!row) throw new Error('The embedded network has no ledger clock: it was never initialised');
  return { ledger: row.sequence, closedAt: row.closedAt };
}

/** Moves the network's time ahead for every instance, and closes a ledger at the new time. */
export async function advanceLedgerClock(db: Db, clock: Clock, seconds: number): Promise<ClosedLedger> {
  if (!Number.isSafeInteger(seconds) || seconds < 0) {
    throw new RangeError(`The network's time only moves forward by whole seconds, not by ${seconds}`);
  }
  return db.transaction(async (tx) => {
    await tx
      .update(ledgerClock)
      .set({ offsetSeconds: sql`${ledgerClock.offsetSeconds} + ${seconds}::bigint` });
    return closeLedger(tx, clock);
  });
}

/** Writes the clock's row at the network's first start; later starts find it. Returns the network's id. */
export async function initialiseLedgerClock(db: Db, clock: Clock, freshNetworkId: string): Promise<string> {
  await db
    .insert(ledgerClock)
    .values({ networkId: freshNetworkId, sequence: 1n, closedAt: nowSeconds(clock), offsetSeconds: 0n })
    .onConflictDoNothing();
  const [row] = await db.select({ networkId: ledgerClock.networkId }).from(ledgerClock);
  if (!row) throw new Error('The embedded network has no ledger clock, although it was just written');
  return row.networkId;
}

function nowSeconds(clock: Clock): bigint {
  return BigInt(Math.floor(clock.now().getTime() / 1000));
}
