/**
 * CSV by RFC 4180, for programs and for spreadsheets, which run a cell that begins like a formula.
 */

/**
 * What spreadsheets take for the beginning of a formula, with what they skip before it: where a cell begins. In many countries they
 * end cells at semicolons, and then no quotes that begin behind a comma hold one together.
 */
const FORMULA = /(^|[;\t\r\n])(?=[\s"\u{feff}]*[=+\-@\uff0b\uff0d\uff1d\uff20])|^(?=[\t\r\n])/gu;
/** A negative amount is a number, not a formula. */
const NUMBER = /^-?\d+(\.\d+)?$/;

export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const harmless = NUMBER.test(text) ? text : text.replaceAll(FORMULA, "$&'");
  return /[",\r\n']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
