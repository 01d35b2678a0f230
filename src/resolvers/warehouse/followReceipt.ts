/**
 * How subscribers follow receipts: with the open pledge and the kilograms taken, which change without the
 * receipt's row.
 */
import type { Db } from '../../db/connection.ts';
import type { Needs } from '../core/dependencies.ts';
import type { FollowedKind } from '../core/changeFollower.ts';
import { findOpenPledges, type ReceiptPledge } from './findPledge.ts';
import { findReceiptsByIds, type Receipt } from './findReceipt.ts';
import { readTaken, type Taken } from './readTaken.ts';

export type FollowedReceipt = Receipt & { openPledge: ReceiptPledge | null; taken: Taken | null };

export const FOLLOWED_RECEIPTS: FollowedKind<FollowedReceipt> = {
  readMany,
  hasEnded: ({ state }) => state === 'EXPIRED' || state === 'REFUSED',
  hidden: [],
};

export async function findFollowedReceipt({ db }: Needs<'db'>, id: string): Promise<FollowedReceipt | null> {
  return (await readMany(db, [id])).get(id) ?? null;
}

async function readMany(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, FollowedReceipt>> {
  const [receipts, openPledges, taken] = await Promise.all([
    findReceiptsByIds({ db }, ids),
    findOpenPledges({ db }, ids),
    readTaken({ db }, ids),
  ]);
  return new Map(
    [...receipts].map(([id, receipt]) => [
      id,
      { ...receipt, openPledge: openPledges.get(id) ?? null, taken: taken.get(id) ?? null },
    ]),
  );
}
