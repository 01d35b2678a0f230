/**
 * Creates the configured ramp provider.
 */
import type { Clock } from '../lib/clock.ts';
import type { Db } from '../db/connection.ts';
import { createHttpProvider } from './http/httpProvider.ts';
import { createRequestThrottle } from './http/requestThrottle.ts';
import { createManualProvider, type ManualControls } from './manual/manualProvider.ts';
import type { ManualPrices } from './manual/quotes.ts';
import type { RampProvider } from './port.ts';

export type RampSettings =
  | ({ kind: 'manual' } & ManualPrices)
  | {
      kind: 'http';
      name: string;
      url: string;
      apiKey: string;
      callbackSecrets: readonly string[];
      requestsPerSecond: number;
    };

interface Ramp {
  provider: RampProvider;
  /** Null unless the manual provider is configured. */
  manual: ManualControls | null;
}

/** A provider that takes longer counts as down. The session's lease is renewed during the request. */
const PROVIDER_TIMEOUT_MS = 15_000;

export function createRamp(
  settings: RampSettings,
  deps: { db: Db; clock: Clock; random: (size: number) => Uint8Array },
): Ramp {
  if (settings.kind === 'http') {
    return {
      provider: createHttpProvider({
        ...settings,
        fetch,
        timeoutMs: PROVIDER_TIMEOUT_MS,
        throttle: createRequestThrottle(settings.requestsPerSecond),
      }),
      manual: null,
    };
  }
  const provider = createManualProvider({ ...settings, ...deps });
  return { provider, manual: provider };
}
