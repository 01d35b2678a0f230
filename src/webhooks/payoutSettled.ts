/**
 * POST /api/webhooks/payout-settled: from an HTTP delivery to the use case. The provider's adapter reads it, and
 * checks its signature where the provider signs. The sender gets 200 in every case: what is lost here is made up
 * for by polling.
 */
import type { HookHandler } from '../http/hooks.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { receivePayoutHint } from '../resolvers/receivePayoutHint.ts';

export function createPayoutHook(deps: Dependencies): HookHandler {
  return async ({ body, headers, requestId }) => {
    const sessionId = deps.ramp.readCallback({ rawBody: body, headers });
    const outcome = sessionId === null ? 'not-a-callback' : await receivePayoutHint(deps, sessionId);
    deps.log.info({ requestId, outcome, bytes: body.length }, 'payout callback');
  };
}
