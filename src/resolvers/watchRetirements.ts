/**
 * watchRetirements: registers the public address of the retirements hook with the indexer.
 *
 * Calling it again leaves exactly one live registration: the new one is stored, and everything else that
 * the indexer holds for us is removed, including what an earlier call left behind when it was cut off.
 */
import { and, eq, inArray, isNotNull, ne } from 'drizzle-orm';
import { withAdvisoryLock } from '../db/advisoryLock.ts';
import { indexerRegistrations } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';
import { retryEarlyDeliveries } from './receiveDelivery.ts';

/** Every event type: the hook tells retirements by their shape, as indexers name them differently. */
const ALL_EVENTS = ['*'];

/** @throws DomainError INDEXER_UNAVAILABLE; calling again cleans up. */
export async function watchRetirements(deps: Dependencies): Promise<{ webhookId: string }> {
  // One at a time over all instances, or two calls would each remove the other's registration.
  const webhookId = await withAdvisoryLock(deps.db, 'indexerRegistration', () => register(deps));
  await retryEarlyDeliveries(deps);
  return { webhookId };
}

/** Whether the hook's present address has a live registration, as far as the platform knows. */
export async function isWatching(deps: Pick<Dependencies, 'db' | 'retirementsHookUrl'>): Promise<boolean> {
  const live = await findLiveRegistration(deps.db);
  return live?.url === deps.retirementsHookUrl;
}

/** The one that deliveries should come by, as far as the platform knows. */
export async function findLiveRegistration(db: Dependencies['db']) {
  const [live] = await db.select().from(indexerRegistrations).where(eq(indexerRegistrations.state, 'LIVE'));
  return live ?? null;
}

async function register(deps: Dependencies): Promise<string> {
  const id = deps.ids.next();
  const url = deps.retirementsHookUrl;
  await deps.db
    .insert(indexerRegistrations)
    .values({ id, url, state: 'REGISTERING', createdAt: deps.clock.now() });
  const webhook = await deps.indexer.registerWebhook(url, ALL_EVENTS);
  await deps.db.transaction(async (tx) => {
    await tx
      .update(indexerRegistrations)
      .set({ state: 'REPLACED', replacedAt: deps.clock.now() })
      .where(and(ne(indexerRegistrations.state, 'REPLACED'), ne(indexerRegistrations.id, id)));
    await tx
      .update(indexerRegistrations)
      .set({ state: 'LIVE', webhookId: webhook.id, sealedSecret: deps.sealer.seal(webhook.secret) })
      .where(eq(indexerRegistrations.id, id));
  });
  await removeOthers(deps, webhook.id);
  return webhook.id;
}

/** Removes at the indexer what is registered for our address, or was registered by us, except `keptId`. */
async function removeOthers(deps: Dependencies, keptId: string): Promise<void> {
  const listed = await deps.indexer.listWebhooks();
  const ids = listed.map((webhook) => webhook.id);
  const ours =
    ids.length === 0
      ? []
      : await deps.db
          .select({ webhookId: indexerRegistrations.webhookId })
          .from(indexerRegistrations)
          .where(
            and(isNotNull(indexerRegistrations.webhookId), inArray(indexerRegistrations.webhookId, ids)),
          );
  const known = new Set(ours.map((row) => row.webhookId));
  const stale = listed.filter(
    (webhook) => webhook.id !== keptId && (webhook.url === deps.retirementsHookUrl || known.has(webhook.id)),
  );
  for (const webhook of stale) await deps.indexer.deleteWebhook(webhook.id);
}
