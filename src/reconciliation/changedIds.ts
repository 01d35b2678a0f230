/**
 * Pages over the rows that an incremental run looks at.
 */

/** The next ids after one, of those that changed, in the order of a keyset over ids. */
export function nextIds(ids: readonly string[], afterId: string | null, pageSize: number): string[] {
  const start = afterId === null ? 0 : ids.indexOf(afterId) + 1;
  return ids.slice(start, start + pageSize);
}
