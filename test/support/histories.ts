/**
 * The histories of one object. The product reads them for all objects of a page.
 */
import { listFailures as listFailuresOf } from '../../src/jobs/expiryRuns.ts';
import type { Needs } from '../../src/resolvers/core/dependencies.ts';
import { readActTransactions as readTransactionsOfActs } from '../../src/resolvers/wallets/findHolderAct.ts';
import {
  readProviderStatuses as readStatusesOf,
  readReviews as readReviewsOf,
} from '../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';

/** @param read the product's reader of many objects @returns a reader of one */
function ofOne<Key, Entry>(
  read: (deps: Needs<'db'>, keys: readonly Key[]) => Promise<ReadonlyMap<Key, Entry[]>>,
) {
  return async (deps: Needs<'db'>, key: Key): Promise<Entry[]> => (await read(deps, [key])).get(key) ?? [];
}

export const readProviderStatuses = ofOne(readStatusesOf);
export const readReviews = ofOne(readReviewsOf);
export const listFailures = ofOne(listFailuresOf);
export const readActTransactions = ofOne(readTransactionsOfActs);
