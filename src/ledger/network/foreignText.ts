/**
 * Makes texts from the ledger, which any account may have written, storable in PostgreSQL and usable in GraphQL.
 */
const NUL = '\u0000';
const REPLACEMENT = '\ufffd';

/** PostgreSQL's text has no NUL: one in another holder's retirement would block every record after it. */
export function storableText(text: string): string {
  return text.replaceAll(NUL, REPLACEMENT);
}
