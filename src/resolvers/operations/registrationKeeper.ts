/**
 * Restores the registration with the indexer when it has vanished there, because indexers lose registrations
 * and let other clients delete them, or when its secret can't be unsealed, so that no delivery can be
 * verified. Also removes leftover registrations. Only a registration that an operator made before is
 * restored. Without deliveries the feed is slower, not incomplete.
 */
import { backoffMs } from '../../db/dueWorker.ts';
import type { Logger } from '../../lib/logger.ts';
import { openSecret } from '../carbon/receiveDelivery.ts';
import { findLiveRegistration, removeLeftovers, replaceLost, type WatchNeeds } from './watchRetirements.ts';

interface RegistrationKeeper {
  start(): void;
  stop(): Promise<void>;
  /** Checks once. @throws DomainError INDEXER_UNAVAILABLE */
  poll(): Promise<void>;
}

/**
 * Interval of checks: each is one small request from each instance. The feed filler finds undelivered
 * records.
 */
const POLL_INTERVAL_MS = 60_000;
/** Backoff after failures: an indexer may be down for days. */
const LONGEST_WAIT_FACTOR = 60;

export function createRegistrationKeeper(
  deps: WatchNeeds,
  options: { log: Logger; random: () => number; pollIntervalMs?: number | undefined },
): RegistrationKeeper {
  const { log, random, pollIntervalMs = POLL_INTERVAL_MS } = options;
  const longestMs = pollIntervalMs * LONGEST_WAIT_FACTOR;
  let timer: NodeJS.Timeout | null = null;
  let looking = Promise.resolve();
  let failures = 0;
  let isStopped = false;

  async function poll(): Promise<void> {
    const live = await findLiveRegistration(deps.db);
    const url = deps.retirementsHookUrl;
    // A first registration, or one for another address, is an operator's decision.
    if (live === null || live.url !== url) return;
    const opens = openSecret(deps.sealer, live) !== null;
    const listed = opens ? await deps.indexer.listWebhooks() : [];
    const ofHook = listed.filter((webhook) => webhook.url === url);
    if (ofHook.some(({ id }) => id === live.webhookId)) {
      if (ofHook.length > 1) await removeLeftovers(deps, live);
      return;
    }
    log.warn(
      { webhookId: live.webhookId },
      opens
        ? 'the registration has vanished at the indexer: registering again'
        : 'the secret of the registration with the indexer does not open with SEALING_SECRETS: registering again',
    );
    const webhookId = await replaceLost(deps, live.id);
    if (webhookId === null) return;
    log.info({ webhookId }, 'registered with the indexer again');
  }

  async function lookAndGoOn(): Promise<void> {
    try {
      await poll();
      failures = 0;
    } catch (error) {
      failures += 1;
      // Logged once per outage: an indexer may be down for days.
      if (failures === 1) log.warn({ err: error }, 'the registration with the indexer could not be checked');
    }
    schedule();
  }

  function schedule(): void {
    if (isStopped) return;
    const waitMs = backoffMs(failures, { firstMs: pollIntervalMs, longestMs }, random);
    timer = setTimeout(() => {
      looking = lookAndGoOn();
    }, waitMs);
  }

  return {
    poll,
    start: schedule,
    async stop() {
      isStopped = true;
      if (timer) clearTimeout(timer);
      await looking;
    },
  };
}
