/**
 * Sizes of the pages of lists: what the contract promises, and what an operation's cost is computed from.
 */

/** The field refuses larger pages. */
export const MAX_PAGE_SIZE = 100;
/** Of a list that is asked for without `first` and `last`. */
export const DEFAULT_PAGE_SIZE = 20;

/** What a page counts as before the operation runs. The field refuses what is no size, with a better message. */
export function pageSize(asked: unknown): number {
  if (asked == null) return DEFAULT_PAGE_SIZE;
  if (typeof asked !== 'number') return MAX_PAGE_SIZE;
  // A negative size would take what the rest of the operation counts as off its sum, and so lift the limit on it.
  return Math.min(Math.max(asked, 1), MAX_PAGE_SIZE);
}
