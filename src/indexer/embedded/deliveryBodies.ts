/**
 * What a delivery's body looks like, in the two shapes that indexers in use have.
 */
import type { IndexedEvent } from '../client.ts';

/** `deployed`: positional, with the chain event's id. `specification`: named fields, the few that it promises. */
export type BodyShape = 'deployed' | 'specification';

export function deliveryBody(
  shape: BodyShape,
  deliveryId: string,
  event: IndexedEvent,
): Uint8Array<ArrayBuffer> {
  const body = shape === 'deployed' ? { id: deliveryId, event } : specifiedBody(event);
  return new TextEncoder().encode(JSON.stringify(body));
}

/**
 * Of a retirement the specification promises the beneficiary alone; the amount is there for people to see.
 * Neither the token nor the index is told, so a receiver has to look at its tokens itself.
 */
function specifiedBody(event: IndexedEvent): { eventType: string; data: Record<string, unknown> } {
  const { eventType, data } = event;
  if (eventType !== 'retired' || !Array.isArray(data.value)) return { eventType, data: {} };
  const [amount, beneficiary] = data.value as unknown[];
  return { eventType, data: { beneficiary, amount } };
}
