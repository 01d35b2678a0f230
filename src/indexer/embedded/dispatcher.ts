/**
 * Delivers a network's events to the registrations over HTTP: each once, signed, without retry or order.
 *
 *   notification or poll ──▶ claim some events ──▶ POST them to registrations that want them ──▶ until none
 *
 * A POST has one event; a POST to the server in the same process has several, because each POST costs that
 * process two requests.
 *
 * A receiver that hangs occupies its own few connections, not the others'. When too many deliveries are under
 * way, claiming waits, and the events stay in the table for this instance or another one.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { signBody } from '../../lib/signature.ts';
import { groupBy } from '../../lib/groupBy.ts';
import type { IndexedEvent } from '../client.ts';
import { MAX_EVENTS_PER_DELIVERY } from '../retirementEvent.ts';
import { hex } from './hex.ts';
import type { DueDelivery, IndexerStore, Registration } from './store.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

export interface DispatcherOptions {
  store: Pick<IndexerStore, 'claimDeliveries'>;
  /** Calls `wake` when there may be new events; resolves to the function that unsubscribes. */
  onNews: (wake: () => void) => Promise<() => Promise<void>>;
  randomBytes: (length: number) => Uint8Array;
  /** Whether the receiver at this address takes several events in one delivery; none does by default. */
  takesMany?: ((url: string) => boolean) | undefined;
  /** A receiver that takes longer misses the delivery. */
  timeoutMs: number;
  /** Time between two polls, which find events without a notification. */
  pollMs: number;
  /** Called for failed deliveries and requests, and when events could not be claimed. */
  onError: (message: string, error: unknown) => void;
}

/** Under load, events of this time are claimed together; the first one after a pause does not wait. */
const CLAIM_INTERVAL_MS = 250;
/**
 * Maximum body of several events: the hook takes 256 KiB. One event is some hundred bytes longer than its
 * transaction, which has 16 KiB at most.
 */
const MAX_BODY_BYTES = 240 * 1024;
/** Connections per receiver. */
const CONCURRENCY_PER_RECEIVER = 4;
/** Deliveries queued or under way in this process; a body has some kilobytes, and 240 KiB at most. */
const MAX_UNDER_WAY = 1_000;

/** Starts at once, with the events published while no indexer ran. */
export async function startDispatcher(options: DispatcherOptions): Promise<{ stop(): Promise<void> }> {
  const { store, onError } = options;
  const limits = new Map<string, LimitFunction>();
  const underWay = new Set<Promise<void>>();
  const aborter = new AbortController();
  // Each delivery under way listens to this signal: Node would warn of a leak from the eleventh listener on.
  setMaxListeners(MAX_UNDER_WAY, aborter.signal);
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
        else await delay(CLAIM_INTERVAL_MS);
      }
    } catch (error) {
      // The next wake or poll tries again.
      onError('The indexer could not read the events', error);
    }
  }

  /** Resolves to true when there may be more events. */
  async function claimSome(): Promise<boolean> {
    while (underWay.size >= MAX_UNDER_WAY) await Promise.race(underWay);
    const { eventCount, deliveries } = await store.claimDeliveries(MAX_EVENTS_PER_DELIVERY);
    for (const parcel of parcelsOf(deliveries, options)) start(parcel);
    return eventCount === MAX_EVENTS_PER_DELIVERY;
  }

  function start(parcel: Parcel): void {
    const receiver = parcel.registration.id;
    const limit = getOrMake(limits, receiver, () => pLimit(CONCURRENCY_PER_RECEIVER));
    const sending = limit(() => send(options, parcel, aborter.signal))
      .catch((error: unknown) => {
        if (!isStopped) onError(`A delivery to ${parcel.registration.url} failed`, error);
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
      // Claimed deliveries get the time of one delivery; those still queued then are dropped, as in a crash.
      const grace = setTimeout(() => aborter.abort(), options.timeoutMs);
      await Promise.all(underWay);
      clearTimeout(grace);
    },
  };
}

/** The content of one POST. */
interface Parcel {
  registration: Registration;
  body: Uint8Array<ArrayBuffer>;
}

function parcelsOf(deliveries: readonly DueDelivery[], options: DispatcherOptions): Parcel[] {
  const { randomBytes, takesMany = () => false } = options;
  const freshId = () => hex(randomBytes(16));
  const ofEach = groupBy(deliveries, ({ registration }) => registration.id);
  return [...ofEach.values()].flatMap((ofOne) => {
    const registration = (ofOne[0] as DueDelivery).registration;
    const events = ofOne.map(({ event }) => event);
    const bodies = takesMany(registration.url)
      ? bodiesOf(events, freshId)
      : events.map((event) => encode({ id: freshId(), event }));
    return bodies.map((body) => ({ registration, body }));
  });
}

/** One body of all events, or the bodies of their halves when it is too long. */
function bodiesOf(events: readonly IndexedEvent[], freshId: () => string): Uint8Array<ArrayBuffer>[] {
  const body = encode({ id: freshId(), events });
  if (body.length <= MAX_BODY_BYTES || events.length === 1) return [body];
  const half = events.length >> 1;
  return [events.slice(0, half), events.slice(half)].flatMap((part) => bodiesOf(part, freshId));
}

function encode(body: object): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(body));
}

async function send(
  options: DispatcherOptions,
  { registration, body }: Parcel,
  stopping: AbortSignal,
): Promise<void> {
  const signature = signBody(registration.secret, body);
  // AbortSignal.any is not used: on Node 20, a timeout signal that only it refers to may be collected before
  // it aborts (nodejs/node#57736), and `stopping` would keep memory of each delivery.
  const sending = new AbortController();
  const timer = setTimeout(() => sending.abort(new Error('the receiver took too long')), options.timeoutMs);
  const giveUp = () => sending.abort(stopping.reason);
  stopping.addEventListener('abort', giveUp);
  if (stopping.aborted) giveUp();
  try {
    const response = await fetch(registration.url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-service-signature': signature,
        'x-ankara-signature': signature,
      },
      redirect: 'error',
      signal: sending.signal,
    });
    // The answer's body is not read: an endless one must not hold the connection.
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the receiver answered with status ${response.status}`);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', giveUp);
  }
}
