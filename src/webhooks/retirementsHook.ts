/**
 * POST /api/hooks/retirements: from an HTTP delivery to the use case. Whatever happens, the sender gets 200;
 * a delivery that can't be handled now is spooled.
 */
import type { HookHandler } from '../http/hooks.ts';
import { messageOf } from '../errors.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { receiveDelivery, type Delivery } from '../resolvers/receiveDelivery.ts';
import type { DeliverySpool } from './deliverySpool.ts';

export function createRetirementsHook(
  deps: Dependencies,
  options: { signatureHeaders: readonly string[]; spool: DeliverySpool },
): HookHandler {
  return async ({ body, headers, requestId }) => {
    const delivery = { rawBody: body, signature: signatureIn(headers, options.signatureHeaders) };
    try {
      await handleDelivery(deps, delivery, requestId);
    } catch (error) {
      deps.log.warn({ requestId, error: messageOf(error) }, 'delivery not handled, kept for later');
      await options.spool.keep(delivery);
    }
  };
}

export async function handleDelivery(
  deps: Dependencies,
  delivery: Delivery,
  requestId?: string,
): Promise<void> {
  const outcome = await receiveDelivery(deps, delivery);
  deps.log.info({ requestId, outcome, bytes: delivery.rawBody.length }, 'indexer delivery');
}

/** Header names are lower-case in Node; the first configured one that is there counts. */
function signatureIn(headers: NodeJS.Dict<string | string[]>, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers[name.toLowerCase()];
    if (typeof value === 'string') return value;
  }
  return null;
}
