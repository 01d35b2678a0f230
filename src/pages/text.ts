/**
 * Formats texts, amounts and times for pages. What the pages' scripts format as well is in their text.js.
 */
import { formatDecimal, parseDecimal } from '../lib/decimals.ts';
import { dateOf } from './assets/scripts/text.js';

export { dateOf, grouped, isoOf, shown, shownName, timeOf } from './assets/scripts/text.js';

/**
 * The longest text that the platform accepts has 1024 bytes; other holders may write longer ones into a
 * token.
 */
export const MAX_NAME = 120;
export const MAX_NOTE = 1_200;

/** The exact sum. */
export function sumOf(decimals: readonly string[]): string {
  const scale = 18;
  const units = decimals.reduce((sum, text) => sum + atScale(text, scale), 0n);
  const magnitude = formatDecimal({ units: units < 0n ? -units : units, scale }).replace(/\.?0+$/, '');
  return units < 0n ? `-${magnitude}` : magnitude;
}

function atScale(text: string, scale: number): bigint {
  const parsed = parseDecimal(text.replace('-', ''));
  if (parsed === null) throw new Error(`${text} is no decimal`);
  const units = parsed.units * 10n ** BigInt(scale - parsed.scale);
  return text.startsWith('-') ? -units : units;
}

/** Shows the last day: people would read `until`, the day after it, as a part of the period. */
export function periodText({ from, until }: { from: string; until: string }): string {
  const last = dateOf(Date.parse(until) / 1000 - 86_400);
  return last === from ? from : `${from} to ${last}`;
}

export function serialText({ first, last }: { first: string; last: string }): string {
  return first === last ? first : `${first} to ${last}`;
}

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });

export function countryName(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code;
}

/** Leaves the country out of a location that names it, such as "Kasigau, Kenya". */
export function placeOf(project: { projectLocation: string; countryCode: string }) {
  const { projectLocation: location } = project;
  const country = countryName(project.countryCode);
  const wordsOf = (text: string) => ` ${text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')} `;
  const isNamed = wordsOf(location).includes(wordsOf(country));
  return { location, country: isNamed ? null : country };
}

/** `0x12345678…9abc`, for lists. Certificates show the whole hash. */
export function shortened(hash: string): string {
  return hash.length <= 20 ? hash : `${hash.slice(0, 10)}…${hash.slice(-6)}`;
}

const REASONS: Readonly<Record<string, string>> = {
  VOLUNTARY_OFFSET: 'Voluntary offset of own emissions',
  CONTRIBUTION: 'Contribution, without a claim to have compensated',
  COMPLIANCE: 'Compliance with a legal duty',
  CORSIA: 'CORSIA (international aviation)',
  ARTICLE_6: 'Article 6 of the Paris Agreement',
};

export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason;
}
