/**
 * Claims the embedded network's events for delivery.
 */
import { asc, gt } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { events, indexerCursor } from '../../ledger/network/embedded/tables.ts';
import type { IndexedEvent } from '../client.ts';
import { listRegistrations } from './registrations.ts';
import type { StoredRegistration } from './registrations.ts';
import { wants } from './store.ts';
import type { Claim, DueDelivery } from './store.ts';

type EventRow = typeof events.$inferSelect;

/**
 * Takes the next events from the cursor that all instances share. The claim is committed before anything is
 * sent, so each delivery is sent at most once, also when this process dies in between.
 *
 * The claim waits for the cursor's lock and does not skip it: the lock lasts milliseconds, and its holder may
 * have read before the event of this instance's notification; skipping would leave that event to the slow
 * poll. Events commit in the order of their sequence (landing holds the ledger clock), so none is missed.
 */
export async function claimDeliveries(db: Db, maxEvents: number): Promise<Claim> {
  return db.transaction(async (tx) => {
    const [cursor] = await tx.select().from(indexerCursor).for('update');
    if (!cursor) throw new Error('The embedded indexer has no cursor: its schema was not migrated');
    const registrations = await listRegistrations(tx);
    const rows = await tx
      .select()
      .from(events)
      .where(gt(events.sequence, cursor.sequence))
      .orderBy(asc(events.sequence))
      .limit(maxEvents);
    const last = rows.at(-1);
    if (last) await tx.update(indexerCursor).set({ sequence: last.sequence });
    return { eventCount: rows.length, deliveries: rows.flatMap((row) => deliveriesOf(row, registrations)) };
  });
}

function deliveriesOf(row: EventRow, registrations: StoredRegistration[]): DueDelivery[] {
  const event = toIndexedEvent(row);
  return registrations
    .filter((registration) => {
      return row.sequence > registration.afterSequence && wants(registration, row.eventType);
    })
    .map((registration) => ({ registration, event }));
}

function toIndexedEvent(row: EventRow): IndexedEvent {
  return {
    id: row.id,
    contract: row.contract,
    eventType: row.eventType,
    ledger: Number(row.ledger),
    txHash: row.txHash,
    timestamp: Number(row.timestamp),
    data: { topics: [...row.data.topics], value: row.data.value },
  };
}
