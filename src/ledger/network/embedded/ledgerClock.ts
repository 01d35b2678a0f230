/**
 * The network's time and its ledger numbers.
 *
 * A ledger's close time is the instance's clock plus the stored offset, but never before the last close time.
 * Time therefore passes without transactions, all instances agree on a manual advance, and an instance with a
 * slow clock can't turn time back.
 */
import { getTableColumns, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import { unixSeconds, type Clock } from '../../../lib/clock.ts';
import type { Db, Tx } from '../../../db/connection.ts';
import { hotQuery, hotSelect } from '../../../db/hotQueries.ts';
import type { NetworkStatus } from '../port.ts';
import { ledgerClock } from './tables.ts';

export type ClosedLedger = Pick<NetworkStatus, 'ledger' | 'closedAt'>;

const selectClock = hotSelect(new QueryBuilder().select().from(ledgerClock));

const closeNext = hotQuery<typeof ledgerClock.$inferSelect>(
  sql`UPDATE ${ledgerClock} SET sequence = sequence + 1,
    closed_at = greatest(closed_at, ${sql.placeholder('now')}::bigint + offset_seconds)
    RETURNING ${sql.join(
      Object.values(getTableColumns(ledgerClock)).map(({ name }) => sql.identifier(name)),
      sql`, `,
    )}`,
  getTableColumns(ledgerClock),
);

/** The latest ledger, with the close time that an empty ledger would have now. */
export async function readLedgerClock(db: Db | Tx, clock: Clock): Promise<ClosedLedger> {
  const [row] = await selectClock(db, {});
  if (!row) throw new Error('The embedded network has no ledger clock: it was never initialised');
  const now = unixSeconds(clock.now()) + row.offsetSeconds;
  return { ledger: row.sequence, closedAt: now > row.closedAt ? now : row.closedAt };
}

/**
 * Closes the next ledger, and holds the clock's row lock until the transaction ends, so that nothing else can
 * land meanwhile. Statements that the caller sends afterwards run under the lock, without waiting for the
 * answer.
 */
export async function closeLedger(tx: Tx, clock: Clock): Promise<ClosedLedger> {
  const [row] = await closeNext(tx, { now: unixSeconds(clock.now()).toString() });
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

/** Writes the clock's row at the network's first start; later starts read it. @returns the network's id */
export async function initialiseLedgerClock(db: Db, clock: Clock, freshNetworkId: string): Promise<string> {
  await db
    .insert(ledgerClock)
    .values({
      networkId: freshNetworkId,
      sequence: 1n,
      closedAt: unixSeconds(clock.now()),
      offsetSeconds: 0n,
    })
    .onConflictDoNothing();
  const [row] = await db.select({ networkId: ledgerClock.networkId }).from(ledgerClock);
  if (!row) throw new Error('The embedded network has no ledger clock, although it was just written');
  return row.networkId;
}
