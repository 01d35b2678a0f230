/**
 * The countries of ISO 3166-1.
 */

/** Codes that the Unicode region list has beyond ISO's: reserved, user-assigned and supranational ones. */
const NOT_COUNTRIES = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB XK ZZ'.split(' '));

const regionNames = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });

/** Uses Node's list, so that it is kept up to date with Node. Codes with a successor are retired. */
export function isCountryCode(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || NOT_COUNTRIES.has(code) || regionNames.of(code) === undefined) return false;
  return new Intl.Locale(`und-${code}`).region === code;
}
