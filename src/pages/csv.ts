/**
 * CSV by RFC 4180, for programs and for spreadsheets. Spreadsheets run a cell that begins like a formula.
 */

/**
 * The beginning of a formula, with the characters that spreadsheets skip before it, at the beginning of a
 * cell. In many countries spreadsheets end cells at semicolons, and then quotes that begin after a comma
 * don't hold a cell together.
 */
const FORMULA = /(^|[;\t\r\n])(?=[\s"]*[=+\-@\uff0b\uff0d\uff1d\uff20])/gu;
/** A negative amount is a number, not a formula. */
const NUMBER = /^-?\d+(\.\d+)?$/;

export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const harmless = NUMBER.test(text) ? text : text.replaceAll(FORMULA, "$&'");
  return /[",\r\n']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
