/**
 * POST /api/hooks/retirements: passes an HTTP delivery to the use case. The sender always gets 200; a delivery
 * that can't be handled now is spooled.
 */
import type { HookHandler, HookRefusal } from '../http/server/hooks.ts';
import { createCountedLog } from '../lib/countedLog.ts';
import { innermostMessage } from '../lib/errors.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';
import {
  receiveDelivery,
  type Delivery,
  type ReceiveDeliveryNeeds,
} from '../resolvers/carbon/receiveDelivery.ts';
import type { DeliverySpool } from './deliverySpool.ts';

type RetirementsHookNeeds = Needs<keyof ReceiveDeliveryNeeds | 'log'>;

export function createRetirementsHook(
  deps: RetirementsHookNeeds,
  options: { signatureHeaders: readonly string[]; spool: DeliverySpool },
): HookHandler {
  // Any client can send while nothing can be verified.
  const kept = createCountedLog(deps.log, 'deliveries were not handled, and are kept for later');
  return async ({ body, headers, requestId, remoteAddress }) => {
    const delivery = { rawBody: body, signature: signatureIn(headers, options.signatureHeaders) };
    try {
      return await handleDelivery(deps, delivery, requestId);
    } catch (error) {
      const refusal = await keepForLater(options.spool, delivery);
      if (refusal === null) kept.count({ remoteAddresses: remoteAddress, reasons: innermostMessage(error) });
      return refusal;
    }
  };
}

export async function handleDelivery(
  deps: RetirementsHookNeeds,
  delivery: Delivery,
  requestId?: string,
): Promise<HookRefusal> {
  const outcome = await receiveDelivery(deps, delivery);
  // Any client can send it: the server counts it.
  if (outcome === 'unverified') return outcome;
  deps.log.info({ requestId, outcome, bytes: delivery.rawBody.length }, 'indexer delivery');
  return null;
}

/** @returns null when it is kept. Why it is not, the server counts: any client can send more of them than a log should have lines. */
async function keepForLater(spool: DeliverySpool, delivery: Delivery): Promise<HookRefusal> {
  try {
    return (await spool.keep(delivery)) ? null : 'spool-full';
  } catch (error) {
    return `spool-failed: ${innermostMessage(error)}`;
  }
}

/** Returns the first configured header that is present. Header names are lower-case in Node. */
function signatureIn(headers: NodeJS.Dict<string | string[]>, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers[name.toLowerCase()];
    if (typeof value === 'string') return value;
  }
  return null;
}
