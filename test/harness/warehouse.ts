/**
 * The warehouse side of a composed platform, for tests: the manual provider with simple prices.
 */
import type { ComposeOptions } from '../../src/compose.ts';

/** 1 kg is 50 KES or 1428 UGX (which has no cents) before a fee of 1.5 %. */
export const warehouseOptions = {
  ramp: {
    kind: 'manual',
    exchangeRates: { KES: '0.02', UGX: '0.0007' },
    feeBps: 150,
    quoteSeconds: 900,
  },
  receiptCountryCode: 'KE',
  expiryTimeZone: 'UTC',
} as const satisfies Partial<ComposeOptions>;
