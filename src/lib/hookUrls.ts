/**
 * The webhook addresses of the indexer and the ramp provider, from configuration and never from a request.
 */
export const HOOK_PATHS = {
  retirements: '/api/hooks/retirements',
  payoutSettled: '/api/webhooks/payout-settled',
} as const;

export function retirementsHookUrlOf(publicUrl: string): string {
  return new URL(HOOK_PATHS.retirements, publicUrl).href;
}
