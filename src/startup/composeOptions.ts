/**
 * The options of the composition that only the configuration decides. The server and the command line tools
 * share them.
 */
import type { ComposeOptions } from './compose.ts';
import type { Config } from '../config/config.ts';
import type { RampSettings } from '../ramp/createRamp.ts';

export function composeOptionsOf(config: Config) {
  return {
    publicUrl: config.PUBLIC_URL,
    appSecret: config.APP_SECRET,
    transparencyLogOrigin: config.TRANSPARENCY_LOG_ORIGIN,
    sealingSecrets: config.sealingSecrets,
    ramp: rampOf(config),
    receiptCountryCode: config.RECEIPT_COUNTRY_CODE,
    nightlyTimeZone: config.NIGHTLY_TIME_ZONE,
    feedCompareIntervalMs: config.FEED_COMPARE_INTERVAL_MS,
  } satisfies Partial<ComposeOptions>;
}

function rampOf(config: Config): RampSettings {
  if (config.RAMP_PROVIDER === 'http') {
    // A configuration without these settings is refused.
    const {
      RAMP_NAME: name = '',
      RAMP_URL: url = '',
      RAMP_API_KEY: apiKey = '',
      RAMP_CALLBACK_SECRETS: callbackSecrets = [],
      RAMP_REQUESTS_PER_SECOND: requestsPerSecond,
    } = config;
    return { kind: 'http', name, url, apiKey, callbackSecrets, requestsPerSecond };
  }
  return {
    kind: 'manual',
    exchangeRates: config.RAMP_EXCHANGE_RATES,
    feeBps: config.RAMP_FEE_BPS,
    quoteSeconds: config.RAMP_QUOTE_SECONDS,
  };
}
