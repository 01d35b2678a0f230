/**
 * The rows that a reconciliation compares, page by page: all rows of a table in the order of their ids, or
 * the changed ones.
 */
import { asc, gt, inArray, type AnyColumn, type SQL } from 'drizzle-orm';
import { MAX_TOKENS_PER_READ } from '../ledger/network/port.ts';
import { chunksOf } from '../lib/chunksOf.ts';

/** The tokens of a page fit one read of the network. */
export const PAGE_SIZE = MAX_TOKENS_PER_READ;

/** A query of Drizzle's, which is ordered and limited here. */
interface Query<Row> {
  orderBy(order: SQL): { limit(rows: number): PromiseLike<Row[]> };
}

/**
 * @param ids the changed rows of an incremental run
 * @param rows the query for the rows that meet a condition
 */
export async function* pagesById<Row extends { id: string }>(
  id: AnyColumn,
  ids: readonly string[] | undefined,
  rows: (where: SQL | undefined) => Query<Row>,
): AsyncGenerator<Row[]> {
  const read = (where: SQL | undefined) => rows(where).orderBy(asc(id)).limit(PAGE_SIZE);
  if (ids !== undefined) {
    // Paged by the ids, not by the rows: a page whose rows are all left out is not the last one.
    for (const page of chunksOf(ids, PAGE_SIZE)) yield await read(inArray(id, page));
    return;
  }
  for (let where: SQL | undefined; ;) {
    const page = await read(where);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    where = gt(id, last.id);
  }
}
