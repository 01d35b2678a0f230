/**
 * Finds a session's deposit in the session's own settlement contract, which need not be in use any more. The
 * contract knows a deposit only by the provider's session id, which two providers may share: another session's
 * deposit under the id is not this session's.
 */
import { and, eq, isNotNull, ne, or } from 'drizzle-orm';
import { offRampSessions } from '../../../db/tables/index.ts';
import type { OffRampDeposit } from '../../../ledger/network/port.ts';
import type { Needs } from '../../core/dependencies.ts';
import type { OpenedOffRampSession } from './offRampMoves.ts';

/** Null when there is no deposit under the session's id, or it is another session's. */
export async function findDeposit(
  deps: Needs<'db' | 'network'>,
  session: OpenedOffRampSession,
): Promise<OffRampDeposit | null> {
  return ownDeposit(deps, session, await readDeposit(deps, session));
}

/** The deposit under the session's id, whichever session owns it. */
export async function readDeposit(
  { network }: Needs<'network'>,
  { settlementAddress, providerSessionId }: OpenedOffRampSession,
): Promise<OffRampDeposit | null> {
  return network.offRampDeposit(settlementAddress, providerSessionId);
}

/** The deposit found under the session's id; null when it is another session's. */
export async function ownDeposit(
  deps: Needs<'db'>,
  session: OpenedOffRampSession,
  found: OffRampDeposit | null,
): Promise<OffRampDeposit | null> {
  return found !== null && (await isDepositOfAnother(deps, session)) ? null : found;
}

/**
 * Whether another session of the same receipt owns the deposit under this session's id (tokens of another
 * receipt are not as agreed). Its deposit under way may have landed unnoticed, and a deposit under the id of
 * a closed session is meant for the open one.
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
