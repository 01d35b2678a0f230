/**
 * CSV by RFC 4180, for programs and for spreadsheets, which run a cell that begins like a formula.
 */

/** What spreadsheets take for the beginning of a formula, and what they skip before it. */
const FORMULA = /^[\s\u{feff}]*[=+\-@\uff0b\uff0d\uff1d\uff20]|^[\t\r\n]/u;
/** A negative amount is a number, not a formula. */
const NUMBER = /^-?\d+(\.\d+)?$/;

export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const harmless = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
