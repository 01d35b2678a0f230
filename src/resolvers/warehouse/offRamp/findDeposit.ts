/**
 * A session's deposit, as the settlement contract shows it. The contract knows a deposit by the provider's session id alone, and two
 * providers may use the same one: what another session has deposited under it is not this one's.
 */
import { and, eq, isNotNull, ne, or } from 'drizzle-orm';
import { offRampSessions } from '../../../db/tables/index.ts';
import type { OffRampDeposit } from '../../../ledger/network/port.ts';
import type { Needs } from '../../core/dependencies.ts';
import type { OpenedOffRampSession } from './offRampMoves.ts';

/** Null when there is none under the session's id, and when it is another session's. */
export async function findDeposit(
  deps: Needs<'db' | 'network'>,
  session: OpenedOffRampSession,
): Promise<OffRampDeposit | null> {
  return ownDeposit(deps, session, await deps.network.offRampDeposit(session.providerSessionId));
}

/** What is found under the session's id; null when it is another session's. */
export async function ownDeposit(
  deps: Needs<'db'>,
  session: OpenedOffRampSession,
  found: OffRampDeposit | null,
): Promise<OffRampDeposit | null> {
  return found !== null && (await isDepositOfAnother(deps, session)) ? null : found;
}

/**
 * Of the same receipt: the tokens of another one are not what was agreed. A deposit under way may have landed, unseen; and what comes
 * under the id of a session that is closed is meant for one that is not.
 */
async function isDepositOfAnother(
  { db }: Needs<'db'>,
  { id, state, receiptId, settlementAddress, providerSessionId, depositedAt }: OpenedOffRampSession,
): Promise<boolean> {
  if (depositedAt !== null) return false;
  const isIt = and(
    eq(offRampSessions.receiptId, receiptId),
    eq(offRampSessions.settlementAddress, settlementAddress),
    eq(offRampSessions.providerSessionId, providerSessionId),
    ne(offRampSessions.id, id),
    or(
      isNotNull(offRampSessions.depositedAt),
      state === 'CLOSED' ? ne(offRampSessions.state, 'CLOSED') : eq(offRampSessions.state, 'DEPOSITING'),
    ),
  );
  return (await db.$count(offRampSessions, isIt)) > 0;
}
