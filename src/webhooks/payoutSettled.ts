/**
 * POST /api/webhooks/payout-settled: passes an HTTP delivery to the use case. The provider's adapter parses
 * it, and verifies its signature if the provider signs. The sender always gets 200; polling finds what is
 * lost.
 */
import type { HookHandler } from '../http/server/hooks.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';
import { receivePayoutHint } from '../resolvers/warehouse/offRamp/receivePayoutHint.ts';

export function createPayoutHook(
  deps: Parameters<typeof receivePayoutHint>[0] & Needs<'ramp' | 'log'>,
): HookHandler {
  return async ({ body, headers, requestId }) => {
    const read = deps.ramp.readCallback({ rawBody: body, headers });
    if ('refusal' in read) return read.refusal;
    const outcome = await receivePayoutHint(deps, read.sessionId);
    if (outcome !== 'noted') return outcome;
    deps.log.info({ requestId, outcome, bytes: body.length }, 'payout callback');
    return null;
  };
}
