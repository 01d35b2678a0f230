/**
 * The embedded indexer's registrations: an address, its events, and the secret that signs its deliveries.
 */
import { asc, count, eq, max } from 'drizzle-orm';
import type { Clock } from '../../lib/clock.ts';
import { unixSeconds } from '../../lib/clock.ts';
import type { Db, Tx } from '../../db/connection.ts';
import { events, webhooks } from '../../ledger/network/embedded/tables.ts';
import { hex } from './hex.ts';
import { MAX_REGISTRATIONS } from './store.ts';

export type StoredRegistration = typeof webhooks.$inferSelect;

/** @returns the new registration with its secret, or null when there are MAX_REGISTRATIONS already */
export async function addRegistration(
  deps: { db: Db; clock: Clock; randomBytes: (length: number) => Uint8Array },
  wanted: { url: string; events: string[] },
): Promise<StoredRegistration | null> {
  return deps.db.transaction(async (tx) => {
    const [held] = await tx.select({ count: count() }).from(webhooks);
    if ((held?.count ?? 0) >= MAX_REGISTRATIONS) return null;
    const [latest] = await tx.select({ sequence: max(events.sequence) }).from(events);
    const [added] = await tx
      .insert(webhooks)
      .values({
        ...wanted,
        id: hex(deps.randomBytes(16)),
        secret: hex(deps.randomBytes(32)),
        afterSequence: latest?.sequence ?? 0n,
        createdAt: unixSeconds(deps.clock.now()),
      })
      .returning();
    return added ?? null;
  });
}

export function listRegistrations(db: Db | Tx): Promise<StoredRegistration[]> {
  return db
    .select()
    .from(webhooks)
    .orderBy(asc(webhooks.createdAt), asc(webhooks.id))
    .limit(MAX_REGISTRATIONS)
    .execute();
}

/** @returns whether there was such a registration */
export async function removeRegistration(db: Db, id: string): Promise<boolean> {
  const removed = await db.delete(webhooks).where(eq(webhooks.id, id)).returning({ id: webhooks.id });
  return removed.length > 0;
}
