/**
 * Makes texts from the ledger storable in PostgreSQL and usable in GraphQL. Any account or contract may have
 * written them.
 */

/**
 * Replaces NUL and halves of surrogate pairs, which PostgreSQL's text can't store. In another holder's
 * retirement, one would block every later record; in a contract's reason, it would block the refusal with
 * that reason.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}
