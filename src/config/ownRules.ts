/**
 * Rules of single settings. Rules that several settings share are in src/lib/settingRules.ts.
 */
import { serverUrlsOf } from '../lib/databaseUrl.ts';
import { isCountryCode, isCurrencyCode } from '../lib/isoCodes.ts';
import { parseDecimal } from '../lib/decimals.ts';
import { httpUrl, list, MIN_SECRET_BYTES, text } from '../lib/settingRules.ts';

/**
 * libpq's parameters for the host. The driver would send them to the server as settings, and connect to
 * another host.
 */
const PLACE_PARAMETERS = ['host', 'hostaddr', 'port'];
export const postgresUrl = text
  .refine(
    (url) => serverUrlsOf(url).length > 0,
    'must be an address like postgres://user:password@host:5432/name, with commas between several hosts',
  )
  .refine(
    (url) =>
      !serverUrlsOf(url).some((one) => PLACE_PARAMETERS.some((name) => new URL(one).searchParams.has(name))),
    'must name its host and port before the database, not as parameters; no Unix socket can be named',
  )
  .refine(hasReadableCredentials, 'must have a user and a password in which % is written as %25');
/** Certificates, QR codes, pages and hooks have fixed paths, which would replace a path of PUBLIC_URL. */
export const publicUrl = httpUrl.refine(
  (url) => !URL.canParse(url) || new URL(url).href === new URL('/', url).href,
  'must have no path: the server answers at the root of its host',
);
/**
 * Sent in a header. A character that headers don't allow would be refused later, with a message that repeats
 * the value.
 */
export const headerText = text.regex(/^[\x20-\x7e]+$/, 'must be printable ASCII');
/** Sessions keep it; "manual" is the manual provider's (src/ramp/providerName.ts). */
export const providerName = text
  .regex(/^[a-z0-9.-]{1,64}$/, 'must be 1 to 64 lower-case letters, digits, dots and hyphens')
  .refine((name) => name !== 'manual', 'must not be "manual", the name of the manual provider');
export const headerNames = list.refine(
  (names) => names.every((name) => /^[a-z0-9-]{1,64}$/i.test(name)),
  'must be header names, separated by commas',
);
export const secretTexts = list.refine(
  (secrets) => secrets.every((secret) => Buffer.byteLength(secret) >= MIN_SECRET_BYTES),
  `must have at least ${MIN_SECRET_BYTES} bytes each`,
);
export const origins = list.refine(
  (entries) => entries.every((entry) => entry === '*' || isOrigin(entry)),
  'must be origins like https://app.example, in lower case, without a path, a slash at the end or the default port, separated by commas, or *',
);

export const hostNames = list.refine(
  (names) => names.every((name) => /^[a-z0-9.:-]{1,253}$/.test(name)),
  'must be host names in lower case without scheme and port, separated by commas',
);

export const currencyRates = list
  .refine((entries) => entries.every((entry) => /^[A-Z]{3}=/.test(entry)), 'must be like KES=0.02,UGX=0.0007')
  .refine(
    (entries) => entries.every((entry) => isCurrencyCode(entry.slice(0, 3))),
    'must name currencies of ISO 4217',
  )
  .refine(
    (entries) => new Set(entries.map((entry) => entry.slice(0, 3))).size === entries.length,
    'must name each currency once',
  )
  .transform((entries) => Object.fromEntries(entries.map((entry) => [entry.slice(0, 3), entry.slice(4)])))
  .refine(
    (rates) => Object.values(rates).every((rate) => (parseDecimal(rate)?.units ?? 0n) > 0n),
    'must have positive decimal rates, with a point and at most 18 decimal places',
  );
/** As the contract takes it. UK, in use for GB, would be written into tokens permanently. */
export const countryCode = text.refine(
  isCountryCode,
  'must be a country of ISO 3166-1 alpha-2 in upper case, such as KE',
);
/**
 * `Intl.supportedValuesOf` has one name of each zone, which may be the old one: Asia/Calcutta, not
 * Asia/Kolkata. The form excludes abbreviations, which several zones share.
 */
const ZONE_NAME = /^(?:UTC|GMT|[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)+)$/;
export const timeZone = text.refine(
  (name) => ZONE_NAME.test(name) && isTimeZone(name),
  'must be a time zone like UTC or Africa/Nairobi',
);

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * As browsers send it: another text would match no page. Apps have their own schemes, such as
 * capacitor://localhost.
 */
function isOrigin(entry: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@]+$/.test(entry) || !URL.canParse(entry)) return false;
  return !/^https?:/.test(entry) || new URL(entry).origin === entry;
}

function hasReadableCredentials(url: string): boolean {
  const [first] = serverUrlsOf(url);
  if (first === undefined) return true;
  const { username, password } = new URL(first);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
