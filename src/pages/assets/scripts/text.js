/**
 * Formats texts, amounts and times, on the server and in browsers. Beneficiaries, notes and names are
 * strangers' text: it is shown as text, without characters that change how their neighbours look, and of
 * limited length.
 */

/** Control characters, and characters that change the direction of the text around them. */
const DISTURBING = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u{61c}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;

/** Made for the first long text: few texts are cut. */
let graphemes = null;

/** Cuts between the characters that readers see, to at most `max` code units. */
export function shown(text, max = 120) {
  const clean = text.slice(0, max + 1).replace(DISTURBING, '\u{fffd}');
  if (clean.length <= max) return clean;
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
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
export function shownName(name, max) {
  return UNSEEN.test(name) ? '(no name)' : shown(name, max);
}

/** `1234567.5` as `1 234 567.5`, with spaces that do not break lines. */
export function grouped(decimal) {
  const [whole, fraction] = decimal.split('.');
  const parted = whole.replaceAll(/\B(?=(\d{3})+$)/g, '\u{202f}');
  return fraction === undefined ? parted : `${parted}.${fraction}`;
}

/** A token's clock may have any value: times that no calendar has are shown as 1970-01-01. */
export function isoOf(unixSeconds) {
  const moment = new Date(unixSeconds * 1000);
  return Number.isNaN(moment.getTime()) ? new Date(0).toISOString() : moment.toISOString();
}

/** The same format for all readers, whatever their language. */
export function dateOf(unixSeconds) {
  return isoOf(unixSeconds).slice(0, 10);
}

export function timeOf(unixSeconds) {
  return `${isoOf(unixSeconds).slice(0, 19).replace('T', ' ')} UTC`;
}
