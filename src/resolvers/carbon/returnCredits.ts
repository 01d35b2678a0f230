/**
 * Returns the credits of a refused burn to their buyer: retiring → buyer, in the transaction that settles the refusal.
 */
import type { Tx } from '../../db/connection.ts';
import { returnPosting } from '../../ledger/books/postings.ts';
import type { Retirement } from './findRetirement.ts';
import { moveOutOfRetiring, type SettleDependencies } from './settleRetirements.ts';

export async function returnCredits(
  tx: Tx,
  { ids }: Pick<SettleDependencies, 'ids'>,
  { id: retirementId, buyerId, projectId, amountTonnes: amount }: Retirement,
  at: Date,
): Promise<void> {
  const posting = returnPosting({ id: ids.next(), projectId, amount, retirementId, buyerId });
  await moveOutOfRetiring(tx, [posting], at);
}
