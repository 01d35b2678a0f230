/**
 * Sizes of the pages of lists: what the contract promises, and what an operation's cost is computed from.
 */

/** The field refuses larger pages. */
export const MAX_PAGE_SIZE = 100;
/** Of a list that is asked for without `first` and `last`. */
export const DEFAULT_PAGE_SIZE = 20;
