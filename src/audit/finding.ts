/**
 * What an audit finds: each a broken promise, with the facts that show it.
 */
export interface Finding {
  /** The invariant that does not hold: I1 … I10, as docs/invariants.md names them. */
  invariant: string;
  message: string;
  /** Somebody gave custody more than the books know of: nothing that the platform did, and nothing is missing. */
  isGift?: true;
}
