/**
 * Formats texts, amounts and times for pages. Beneficiaries, notes and names are strangers' text: the JSX
 * renders them as text, without characters that change how their neighbours look, and of limited length.
 */
import { formatDecimal, parseDecimal } from '../lib/decimals.ts';

/** Control characters, and characters that change the direction of the text around them. */
const DISTURBING = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u{61c}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The longest text that the platform accepts has 1024 bytes; other holders may write longer ones into a
 * token.
 */
export const MAX_NAME = 120;
export const MAX_NOTE = 1_200;

/** Cuts between the characters that readers see, to at most `max` code units. */
export function shown(text: string, max: number): string {
  const clean = text.slice(0, max + 1).replace(DISTURBING, '\u{fffd}');
  if (clean.length <= max) return clean;
  let kept = '';
  for (const { segment } of graphemes.segment(clean)) {
    if (kept.length + segment.length >= max) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Filler characters count as letters, and are invisible. */
const UNSEEN = /^(?:[^\p{L}\p{N}\p{P}\p{S}]|[\u{115f}\u{1160}\u{2800}\u{3164}\u{ffa0}])*$/u;

/**
 * A beneficiary's name, formatted by `shown`. Other holders may write an invisible one, but a link needs a
 * text.
 */
export function shownName(name: string, max: number): string {
  return UNSEEN.test(name) ? '(no name)' : shown(name, max);
}

/** `1234567.5` as `1 234 567.5`, with spaces that do not break lines. */
export function grouped(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  const parted = whole.replaceAll(/\B(?=(\d{3})+$)/g, '\u{202f}');
  return fraction === undefined ? parted : `${parted}.${fraction}`;
}

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

/** The same format for all readers, whatever their language. */
export function dateOf(unixSeconds: number): string {
  return isoOf(unixSeconds).slice(0, 10);
}

/** Shows the last day: people would read `until`, the day after it, as a part of the period. */
export function periodText({ from, until }: { from: string; until: string }): string {
  const last = dateOf(Date.parse(until) / 1000 - 86_400);
  return last === from ? from : `${from} to ${last}`;
}

export function timeOf(unixSeconds: number): string {
  return `${isoOf(unixSeconds).slice(0, 19).replace('T', ' ')} UTC`;
}

/** A token's clock may have any value: times that no calendar has are shown as 1970-01-01. */
export function isoOf(unixSeconds: number): string {
  const moment = new Date(unixSeconds * 1000);
  return Number.isNaN(moment.getTime()) ? new Date(0).toISOString() : moment.toISOString();
}

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });

export function countryName(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code;
}

/** Leaves the country out of a location that names it, such as "Kasigau, Kenya". */
export function placeOf({
  projectLocation: location,
  countryCode,
}: {
  projectLocation: string;
  countryCode: string;
}): {
  location: string;
  country: string | null;
} {
  const country = countryName(countryCode);
  const words = ` ${location.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')} `;
  const isNamed = words.includes(` ${country.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ')} `);
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
