/**
 * The currencies of ISO 4217.
 */

/** The codes for no currency and for tests. */
const NO_MONEY = new Set(['XXX', 'XTS']);

const names = new Intl.DisplayNames(['en'], { type: 'currency', fallback: 'none' });

/** Node's own list, so that it is kept up with Node; it has retired ones, too. */
export function isCurrencyCode(code: string): boolean {
  return /^[A-Z]{3}$/.test(code) && !NO_MONEY.has(code) && names.of(code) !== undefined;
}
