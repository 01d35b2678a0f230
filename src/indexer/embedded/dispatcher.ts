/**
 * Delivers a network's events to the registrations: each once, over HTTP, signed, without retry or order.
 *
 *   notification or poll ──▶ claim some events ──▶ one POST per registration that wants them ──▶ repeat until none
 *
 * A receiver that hangs occupies its own few connections, not the others'. When too many deliveries are under way,
 * claiming waits, and the events stay in the table for this instance or another one.
 */
import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { signBody } from '../../lib/signature.ts';
import { deliveryBody } from './deliveryBodies.ts';
import type { BodyShape } from './deliveryBodies.ts';
import { hex } from './hex.ts';
import type { DueDelivery, IndexerStore } from './store.ts';

export interface DispatcherOptions {
  store: Pick<IndexerStore, 'claimDeliveries'>;
  /** Calls `wake` when there may be new events; resolves to the function that unsubscribes. */
  onNews: (wake: () => void) => Promise<() => Promise<void>>;
  randomBytes: (length: number) => Uint8Array;
  bodyShape: BodyShape;
  /** A receiver that takes longer misses the delivery. */
  timeoutMs: number;
  /** Finds events without a notification. */
  pollMs: number;
  /** Called for failed deliveries, and when events could not be claimed. */
  onError: (message: string, error: unknown) => void;
}

const EVENTS_PER_CLAIM = 50;
/** Connections per receiver. */
const CONCURRENCY_PER_RECEIVER = 4;
/** Deliveries queued or under way in this process; each holds one body of a few kilobytes. */
const MAX_UNDER_WAY = 1_000;

/** Starts at once, with the events published while no indexer ran. */
export async function startDispatcher(options: DispatcherOptions): Promise<{ stop(): Promise<void> }> {
  const { store, onError } = options;
  const limits = new Map<string, LimitFunction>();
  const underWay = new Set<Promise<void>>();
  const aborter = new AbortController();
  let isStopped = false;
  let wasWoken = false;
  let claiming: Promise<void> | null = null;

  function wake(): void {
    wasWoken = true;
    if (!isStopped) claiming ??= claimAll().finally(() => (claiming = null));
  }

  async function claimAll(): Promise<void> {
    try {
      while (wasWoken && !isStopped) {
        wasWoken = false;
        if (await claimSome()) wasWoken = true;
      }
    } catch (error) {
      // The next wake or poll tries again.
      onError('The indexer could not read the events', error);
    }
  }

  /** Resolves to true when there may be more. */
  async function claimSome(): Promise<boolean> {
    while (underWay.size >= MAX_UNDER_WAY) await Promise.race(underWay);
    const { eventCount, deliveries } = await store.claimDeliveries(EVENTS_PER_CLAIM);
    for (const delivery of deliveries) start(delivery);
    return eventCount === EVENTS_PER_CLAIM;
  }

  function start(delivery: DueDelivery): void {
    const receiver = delivery.registration.id;
    const limit = limits.get(receiver) ?? pLimit(CONCURRENCY_PER_RECEIVER);
    limits.set(receiver, limit);
    const sending = limit(() => send(options, delivery, aborter.signal))
      .catch((error: unknown) => {
        if (!isStopped) onError(`A delivery to ${delivery.registration.url} failed`, error);
      })
      .finally(() => {
        underWay.delete(sending);
        if (limit.activeCount === 0 && limit.pendingCount === 0) limits.delete(receiver);
      });
    underWay.add(sending);
  }

  const unlisten = await options.onNews(wake);
  wake();
  const poll = setInterval(wake, options.pollMs);

  return {
    async stop() {
      isStopped = true;
      clearInterval(poll);
      await unlisten();
      await claiming;
      // Claimed deliveries get the time of one delivery; what is still queued then is dropped, as in a crash.
      const grace = setTimeout(() => aborter.abort(), options.timeoutMs);
      await Promise.all(underWay);
      clearTimeout(grace);
    },
  };
}

async function send(options: DispatcherOptions, delivery: DueDelivery, stopping: AbortSignal): Promise<void> {
  const { registration, event } = delivery;
  const body = deliveryBody(options.bodyShape, hex(options.randomBytes(16)), event);
  const signature = signBody(registration.secret, body);
  const response = await fetch(registration.url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-service-signature': signature,
      'x-ankara-signature': signature,
    },
    redirect: 'error',
    signal: AbortSignal.any([stopping, AbortSignal.timeout(options.timeoutMs)]),
  });
  // The answer's body is not read: an endless one must not hold the connection.
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the receiver answered with status ${response.status}`);
}
