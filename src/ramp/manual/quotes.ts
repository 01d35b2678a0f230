/**
 * The manual provider's quotes, from a table of rates and one fee.
 *
 *   gross = tokens ÷ rate, rounded down to the currency's smallest unit
 *   fee   = gross × feeBps ÷ 10000, rounded up
 *   paid  = gross − fee
 */
import { DomainError } from '../../lib/errors.ts';
import { divideDown, formatDecimal, parseDecimal, shareUp } from '../../lib/decimals.ts';
import type { Quote, QuoteRequest } from '../port.ts';
import type { Decimal } from '../../lib/decimals.ts';

/** Fees are in hundredths of a percent. */
const BASIS_POINTS = 10_000n;

export interface ManualPrices {
  /** Tokens per one unit of fiat, by ISO 4217 code. */
  exchangeRates: Readonly<Record<string, Decimal>>;
  feeBps: number;
  /** How long a quote is valid. */
  quoteSeconds: number;
}

/** @throws DomainError RAMP_REFUSED for an unknown currency, and for amounts too small to pay out. */
export function quoteManually(prices: ManualPrices, request: QuoteRequest, now: Date): Quote {
  const { tokenAmount, tokenSymbol, fiatCurrency } = request;
  const exchangeRate = rateOf(prices, fiatCurrency);
  const rate = parseDecimal(exchangeRate);
  if (rate === null) throw new Error(`the rate of ${fiatCurrency} is ${exchangeRate}`);
  const scale = minorDigits(fiatCurrency);
  const gross = divideDown(tokenAmount, rate, scale);
  const fee = shareUp(gross, BigInt(prices.feeBps), BASIS_POINTS);
  const paid = gross - fee;
  if (paid <= 0n) {
    throw new DomainError(
      'RAMP_REFUSED',
      `${tokenAmount} ${tokenSymbol} are worth ${formatDecimal({ units: gross, scale })} ${fiatCurrency}, ` +
        `of which nothing is left after the fee. Cash out more at once.`,
      { field: 'tokenAmount', requested: tokenAmount.toString() },
    );
  }
  return {
    tokenAmount,
    tokenSymbol,
    fiatCurrency,
    fiatAmount: formatDecimal({ units: paid, scale }),
    fiatFee: formatDecimal({ units: fee, scale }),
    feeBps: prices.feeBps,
    exchangeRate,
    expiresAt: new Date(now.getTime() + prices.quoteSeconds * 1000),
  };
}

/** Reads own entries only: "constructor" is no currency. */
function rateOf({ exchangeRates }: ManualPrices, fiatCurrency: string): Decimal {
  const rate = Object.hasOwn(exchangeRates, fiatCurrency) ? exchangeRates[fiatCurrency] : undefined;
  if (rate !== undefined) return rate;
  const known = Object.keys(exchangeRates).sort();
  throw new DomainError(
    'RAMP_REFUSED',
    `There is no exchange rate for ${fiatCurrency}. ` +
      (known.length === 0 ? 'No currency has one yet.' : `Currencies with a rate: ${known.join(', ')}.`),
    { field: 'fiatCurrency', supported: known },
  );
}

/** Decimal places of the currency's smallest unit: 2 for KES, 0 for UGX. */
function minorDigits(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}
