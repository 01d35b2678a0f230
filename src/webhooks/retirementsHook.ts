/**
 * POST /api/hooks/retirements: passes an HTTP delivery to the use case. A delivery that can't be handled now
 * is not stored: the token has the retirement, and the feed filler finds it within FEED_COMPARE_INTERVAL_MS.
 */
import type { HookHandler } from '../http/server/hooks.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';
import { receiveDelivery, type ReceiveDeliveryNeeds } from '../resolvers/carbon/receiveDelivery.ts';

export function createRetirementsHook(
  deps: Needs<keyof ReceiveDeliveryNeeds | 'log'>,
  { signatureHeaders }: { signatureHeaders: readonly string[] },
): HookHandler {
  return async ({ body, headers, requestId }) => {
    const delivery = { rawBody: body, signature: signatureIn(headers, signatureHeaders) };
    const outcome = await receiveDelivery(deps, delivery);
    // Any client can send an unverified delivery: the server counts it.
    if (outcome === 'unverified') return outcome;
    deps.log.info({ requestId, outcome, bytes: body.length }, 'indexer delivery');
    return null;
  };
}

/** Returns the first configured header that is present. Header names are lower-case in Node. */
function signatureIn(headers: NodeJS.Dict<string | string[]>, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers[name.toLowerCase()];
    if (typeof value === 'string') return value;
  }
  return null;
}
