/**
 * The countries of ISO 3166-1 and the currencies of ISO 4217, by Node's lists, so that they are kept up to
 * date with Node.
 */

/** Codes that the Unicode region list has beyond ISO's: reserved, user-assigned and supranational ones. */
const NOT_COUNTRIES = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB XK ZZ'.split(' '));

const regionNames = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });

/** Codes with a successor are retired. */
export function isCountryCode(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || NOT_COUNTRIES.has(code) || regionNames.of(code) === undefined) return false;
  return new Intl.Locale(`und-${code}`).region === code;
}

/** The codes for no currency and for tests. */
const NO_MONEY = new Set(['XXX', 'XTS']);

const currencyNames = new Intl.DisplayNames(['en'], { type: 'currency', fallback: 'none' });

/** Node's list has retired currencies, too. */
export function isCurrencyCode(code: string): boolean {
  return /^[A-Z]{3}$/.test(code) && !NO_MONEY.has(code) && currencyNames.of(code) !== undefined;
}
