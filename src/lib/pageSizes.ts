/**
 * Sizes of the pages of lists, which the contract promises and from which an operation's cost is computed.
 */

/** The field refuses larger pages. */
export const MAX_PAGE_SIZE = 100;
/** Page size of a list that is asked for without `first` and `last`. */
export const DEFAULT_PAGE_SIZE = 20;

/** Maximum number of rows counted: enough for people to know, and bounded work for the database. */
export const MAX_COUNTED = 10_000;

/** The page size that counts before the operation runs. The field itself refuses an invalid size. */
export function pageSize(asked: unknown): number {
  if (asked == null) return DEFAULT_PAGE_SIZE;
  if (typeof asked !== 'number') return MAX_PAGE_SIZE;
  // A negative size would reduce the cost of the rest of the operation, and so lift the limit on it.
  return Math.min(Math.max(asked, 1), MAX_PAGE_SIZE);
}
