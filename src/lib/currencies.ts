/**
 * The currencies of ISO 4217.
 */

/** The codes for no currency and for tests. */
const NO_MONEY = new Set(['XXX', 'XTS']);

const names = new Intl.DisplayNames(['en'], { type: 'currency', fallback: 'none' });

/** Uses Node's list, so that it is kept up to date with Node; it has retired currencies, too. */
export function isCurrencyCode(code: string): boolean {
  return /^[A-Z]{3}$/.test(code) && !NO_MONEY.has(code) && names.of(code) !== undefined;
}
