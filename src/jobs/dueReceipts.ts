/**
 * The receipts that are past their expiry date, and the network's answer about each.
 */
import { and, asc, lt, sql, type SQL } from 'drizzle-orm';
import { receipts } from '../db/tables/index.ts';
import { MAX_TOKENS_PER_READ, type ExpiryAnswer } from '../ledger/network/port.ts';
import type { Needs } from '../resolvers/core/dependencies.ts';

/** A receipt whose expiry date in the database has passed. */
export interface DueReceipt {
  id: string;
  tokenAddress: string;
  expiryDate: bigint;
}

/** The due receipts and the network's answer for each, without marking any. */
export async function* previewExpiry(
  deps: Needs<'db' | 'network'>,
): AsyncGenerator<{ receipt: DueReceipt; answer: ExpiryAnswer | undefined }> {
  const { closedAt } = await deps.network.status();
  for await (const page of duePages(deps, closedAt)) {
    const answers = await ask(deps, page);
    for (const receipt of page) yield { receipt, answer: answers.get(receipt.tokenAddress) };
  }
}

/** One read of the network per page. */
export async function ask(deps: Needs<'network'>, page: readonly DueReceipt[]) {
  const answers = await deps.network.expiryOf(page.map(({ tokenAddress }) => tokenAddress));
  return new Map(answers.map((answer) => [answer.tokenAddress, answer]));
}

/** Oldest first, from the index of active receipts by expiry date. */
export async function* duePages(
  deps: Needs<'db'>,
  closedAt: bigint,
  condition?: SQL,
): AsyncGenerator<DueReceipt[]> {
  let last: DueReceipt | undefined;
  do {
    const page: DueReceipt[] = await deps.db
      .select({
        id: receipts.id,
        tokenAddress: sql<string>`${receipts.tokenAddress}`,
        expiryDate: receipts.expiryDate,
      })
      .from(receipts)
      .where(
        and(
          // Written like the partial index's condition, so that the planner uses the index.
          sql`${receipts.state} = 'ACTIVE'`,
          lt(receipts.expiryDate, closedAt),
          last && sql`(${receipts.expiryDate}, ${receipts.id}) > (${last.expiryDate}, ${last.id}::uuid)`,
          condition,
        ),
      )
      .orderBy(asc(receipts.expiryDate), asc(receipts.id))
      .limit(MAX_TOKENS_PER_READ);
    if (page.length > 0) yield page;
    last = page.length === MAX_TOKENS_PER_READ ? page.at(-1) : undefined;
  } while (last);
}
