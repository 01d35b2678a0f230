/**
 * How subscribers follow receipts: with the open pledge and the kilograms taken, which change without the
 * receipt's row.
 */
import type { Needs } from '../core/dependencies.ts';
import type { FollowedKind } from '../core/changeFollower.ts';
import { findOpenPledges, type ReceiptPledge } from './findPledge.ts';
import { findReceiptsByIds, type Receipt } from './findReceipt.ts';
import { readTaken, type Taken } from './readTaken.ts';

export type FollowedReceipt = Receipt & { openPledge: ReceiptPledge | null; taken: Taken | null };

export const FOLLOWED_RECEIPTS: FollowedKind<FollowedReceipt> = {
  findMany,
  hasEnded: ({ state }) => state === 'EXPIRED' || state === 'REFUSED',
  hidden: [],
};

async function findMany(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, FollowedReceipt>> {
  const [receipts, openPledges, taken] = await Promise.all([
    findReceiptsByIds(deps, ids),
    findOpenPledges(deps, ids),
    readTaken(deps, ids),
  ]);
  return new Map(
    [...receipts].map(([id, receipt]) => [
      id,
      { ...receipt, openPledge: openPledges.get(id) ?? null, taken: taken.get(id) ?? null },
    ]),
  );
}
