/**
 * Lists off-ramp sessions, newest first: a farmer's own, or all of them for operators.
 */
import { eq, inArray } from 'drizzle-orm';
import { isAmong, isAtLeast, isAtMost, isTrueOf, isWithin } from '../../../db/conditions.ts';
import { listerOf } from '../../../db/keyset.ts';
import { offRampSessions, receipts } from '../../../db/tables/index.ts';
import { isAmongAddresses } from '../../core/addresses.ts';
import type { Needs } from '../../core/dependencies.ts';
import { whereOverdue } from '../../operations/overdueWork.ts';
import { whereStranded } from '../../operations/strandedSessions.ts';

export const listOffRampSessions = listerOf(offRampSessions, 'createdAt', {
  /** Sessions of this farmer's receipts, including those that an operator requested. */
  visibleTo: (farmerId: string) => eq(offRampSessions.farmerId, farmerId),
  receiptTokenAddresses: ofReceipts,
  farmerIds: isAmong(offRampSessions.farmerId),
  states: isAmong(offRampSessions.state),
  /** Whether the session waits for another ramp provider than the configured one. */
  stranded: (wanted: boolean, deps: Needs<'ramp'>) => isTrueOf(whereStranded(deps))(wanted),
  /** Whether the session should have progressed further by now. */
  overdue: isTrueOf(whereOverdue),
  ...isWithin(offRampSessions.createdAt),
  minTokenAmount: isAtLeast(offRampSessions.tokenAmountKg),
  maxTokenAmount: isAtMost(offRampSessions.tokenAmountKg),
});

function ofReceipts(tokenAddresses: readonly string[], deps: Needs<'db' | 'network'>) {
  const meant = deps.db
    .select({ id: receipts.id })
    .from(receipts)
    .where(isAmongAddresses(receipts.tokenAddress)(tokenAddresses, deps));
  return inArray(offRampSessions.receiptId, meant);
}
