/**
 * Formats a client's value for an error message: truncated, and escaped so that it can't change how the
 * message is displayed or logged.
 */

/** Enough to recognise the value, too short to make answers or logs grow. */
const MAX_SHOWN_CHARACTERS = 80;

/** Control, formatting (bidi, zero-width), separator, surrogate, private and unassigned characters. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

export function showValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? JSON.stringify(truncate(value)) : truncate(jsonOf(value));
  return escapeUnprintable(text);
}

/** Replaces invisible characters, and those that would reorder others, with `\u{…}`. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

export function truncate(text: string, maxCharacters: number = MAX_SHOWN_CHARACTERS): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`;
}

function jsonOf(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  return JSON.stringify(value) ?? typeof value;
}
