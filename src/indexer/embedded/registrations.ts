/**
 * The embedded indexer's registrations: who wants which events, and the secret that signs for them.
 */
import { asc, count, eq, max } from 'drizzle-orm';
import type { Clock } from '../../clock.ts';
import { unixSeconds } from '../../clock.ts';
import type { Db, Tx } from '../../db/connection.ts';
import { events, webhooks } from '../../ledger/network/embedded/tables.ts';

export type Registration = typeof webhooks.$inferSelect;

/** Every event is delivered to every registration that wants it: more than this is a leak, not a use. */
export const MAX_REGISTRATIONS = 100;

/** @returns the new registration with its secret, or null when there are MAX_REGISTRATIONS already */
export async function addRegistration(
  deps: { db: Db; clock: Clock; randomBytes: (length: number) => Uint8Array },
  wanted: { url: string; events: string[] },
): Promise<Registration | null> {
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

export function listRegistrations(db: Db | Tx): Promise<Registration[]> {
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

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
