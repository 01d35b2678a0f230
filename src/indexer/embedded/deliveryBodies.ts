/**
 * The body of a delivery, in the two shapes that indexers in use send, and in one of its own for several events.
 */
import type { IndexedEvent } from '../client.ts';

/** `deployed`: positional, with the chain event's id. `specification`: named fields, only those that it promises. */
export type BodyShape = 'deployed' | 'specification';

export function deliveryBody(
  shape: BodyShape,
  deliveryId: string,
  event: IndexedEvent,
): Uint8Array<ArrayBuffer> {
  return encode(shape === 'deployed' ? { id: deliveryId, event } : specifiedBody(event));
}

/** Several events in the deployed shape, for the server beside this indexer. */
export function deliveryBodyOfMany(
  deliveryId: string,
  events: readonly IndexedEvent[],
): Uint8Array<ArrayBuffer> {
  return encode({ id: deliveryId, events });
}

function encode(body: object): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(body));
}

/**
 * Of a retirement the specification promises the beneficiary alone; the amount is added for human readers. It names
 * neither the token nor the index, so the receiver has to read its tokens.
 */
function specifiedBody(event: IndexedEvent): { eventType: string; data: Record<string, unknown> } {
  const { eventType, data } = event;
  if (eventType !== 'retired' || !Array.isArray(data.value)) return { eventType, data: {} };
  const [amount, beneficiary] = data.value as unknown[];
  return { eventType, data: { beneficiary, amount } };
}
