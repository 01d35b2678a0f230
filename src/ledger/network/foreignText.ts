/**
 * Makes texts from the ledger, which any account or contract may have written, storable in PostgreSQL and usable in GraphQL.
 */
const NUL = '\u0000';
const REPLACEMENT = '\ufffd';

/**
 * PostgreSQL's text has no NUL, nor half a surrogate pair: one in another holder's retirement would block every record after it, and one
 * in a contract's reason the refusal that it is given for.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll(NUL, REPLACEMENT);
}
