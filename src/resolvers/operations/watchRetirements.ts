/**
 * watchRetirements: registers the public address of the retirements hook with the indexer.
 *
 * Each call leaves exactly one live registration: the new one is stored, and all others of this platform are
 * removed from the indexer, including those of interrupted calls.
 */
import { inArray, isNull, sql } from 'drizzle-orm';
import { withAdvisoryLock } from '../../db/advisoryLock.ts';
import { indexerRegistrations } from '../../db/tables/index.ts';
import { sealedPlace } from '../../db/sealedColumns.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Db } from '../../db/connection.ts';

export type WatchNeeds = Needs<'db' | 'ids' | 'sealer' | 'indexer' | 'retirementsHookUrl' | 'feedFiller'>;

/** Every event type: indexers name retirements differently, so the hook recognises them by their shape. */
const ALL_EVENTS = ['*'];

/** @throws DomainError INDEXER_UNAVAILABLE; a further call cleans up. */
export async function watchRetirements(deps: WatchNeeds): Promise<{ webhookId: string }> {
  // Serialized over all instances: concurrent calls would remove each other's registration.
  return { webhookId: await withAdvisoryLock(deps.db, 'indexerRegistration', () => register(deps)) };
}

/**
 * Replaces a registration that has vanished at the indexer, or whose secret does not open.
 * @returns the new webhook's id, or null when another instance has replaced it in the meantime.
 * @throws DomainError INDEXER_UNAVAILABLE
 */
export async function replaceLost(deps: WatchNeeds, lostId: string): Promise<string | null> {
  return whileLive(deps, lostId, () => register(deps));
}

/**
 * Removes leftovers of an interrupted call at the indexer: their deliveries can't be verified, and count
 * against the indexer's address.
 * @throws DomainError INDEXER_UNAVAILABLE
 */
export async function removeLeftovers(deps: WatchNeeds, live: LiveRegistration): Promise<void> {
  await whileLive(deps, live.id, () => removeOthers(deps, live.webhookId));
}

/**
 * Runs `work` while no other instance registers. @returns null when another registration has replaced this
 * one
 */
function whileLive<T>(deps: WatchNeeds, id: string, work: () => Promise<T>): Promise<T | null> {
  return withAdvisoryLock(deps.db, 'indexerRegistration', async () => {
    const live = await findLiveRegistration(deps.db);
    return live?.id === id ? work() : null;
  });
}

/** The live registration, and whether it is for the hook's present address; null when there is none. */
export async function findRegistration(deps: Needs<'db' | 'retirementsHookUrl'>) {
  const live = await findLiveRegistration(deps.db);
  return live && { ...live, isCurrent: live.url === deps.retirementsHookUrl };
}

export type Registration = NonNullable<Awaited<ReturnType<typeof findRegistration>>>;

type LiveRegistration = NonNullable<Awaited<ReturnType<typeof findLiveRegistration>>>;

/** The registration that the platform believes to be live. */
export async function findLiveRegistration(db: Db) {
  const [live] = await db.select().from(indexerRegistrations).where(isNull(indexerRegistrations.replacedAt));
  return live ?? null;
}

async function register(deps: WatchNeeds): Promise<string> {
  const id = deps.ids.next();
  const url = deps.retirementsHookUrl;
  const webhook = await deps.indexer.registerWebhook(url, ALL_EVENTS);
  const sealedSecret = deps.sealer.seal(webhook.secret, sealedPlace('registrationSecret', id));
  await deps.db.transaction(async (tx) => {
    await tx
      .update(indexerRegistrations)
      .set({ replacedAt: sql`now()` })
      .where(isNull(indexerRegistrations.replacedAt));
    await tx
      .insert(indexerRegistrations)
      .values({ id, url, webhookId: webhook.id, sealedSecret, createdAt: sql`now()` });
  });
  // Finds records that were not delivered meanwhile, or delivered before the secret was stored. The round
  // begins first, because the indexer may be unavailable by now.
  void deps.feedFiller.round();
  await removeOthers(deps, webhook.id);
  return webhook.id;
}

/** Deletes at the indexer every webhook for this platform's address or by this platform, except `keptId`. */
async function removeOthers(
  deps: Needs<'db' | 'indexer' | 'retirementsHookUrl'>,
  keptId: string,
): Promise<void> {
  const listed = await deps.indexer.listWebhooks();
  const ids = listed.map((webhook) => webhook.id);
  const ours =
    ids.length === 0
      ? []
      : await deps.db
          .select({ webhookId: indexerRegistrations.webhookId })
          .from(indexerRegistrations)
          .where(inArray(indexerRegistrations.webhookId, ids));
  const known = new Set(ours.map((row) => row.webhookId));
  const stale = listed.filter(
    (webhook) => webhook.id !== keptId && (webhook.url === deps.retirementsHookUrl || known.has(webhook.id)),
  );
  for (const webhook of stale) await deps.indexer.deleteWebhook(webhook.id);
}
