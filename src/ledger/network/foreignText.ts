/**
 * Texts that anybody may have written to the ledger, as a database and GraphQL can take them.
 */
const NUL = '\u0000';
const REPLACEMENT = '\ufffd';

/** PostgreSQL's text has no NUL: one in a stranger's retirement would stop all that is read after it. */
export function storableText(text: string): string {
  return text.replaceAll(NUL, REPLACEMENT);
}
