/**
 * Formats texts, amounts and times for scripts, as src/pages/text.ts does on the server.
 */

/** Control characters, and characters that change the direction of the text around them. */
const DISTURBING = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function shown(text, max = 120) {
  const clean = text.slice(0, max + 1).replace(DISTURBING, '\ufffd');
  return clean.length <= max ? clean : `${clean.slice(0, max - 1)}…`;
}

/** Fillers count as letters and are invisible. */
const UNSEEN = /^(?:[^\p{L}\p{N}\p{P}\p{S}]|[\u115f\u1160\u2800\u3164\uffa0])*$/u;

export function shownName(name) {
  return UNSEEN.test(name) ? '(no name)' : shown(name);
}

/** Formats `1234567.5` with spaces that do not break lines. */
export function grouped(decimal) {
  const [whole, fraction] = decimal.split('.');
  const parted = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f');
  return fraction === undefined ? parted : `${parted}.${fraction}`;
}

/** A token's clock may give any number: the first day stands for times that no calendar has. */
export function isoOf(unixSeconds) {
  const moment = new Date(unixSeconds * 1000);
  return Number.isNaN(moment.getTime()) ? '1970-01-01T00:00:00.000Z' : moment.toISOString();
}

export function timeOf(unixSeconds) {
  return `${isoOf(unixSeconds).slice(0, 19).replace('T', ' ')} UTC`;
}
