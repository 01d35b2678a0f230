/**
 * setManualSessionStatus: an operator sets the status of a payout at the manual provider. The session is due
 * from the same commit on.
 */
import { eq, getTableColumns, sql } from 'drizzle-orm';
import { manualRampSessions, offRampSessions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { ManualControls } from '../../ramp/manual/manualProvider.ts';
import { findManualSession } from '../../ramp/manual/manualStatuses.ts';
import type { PayoutAccount, RampSession, RampStatus } from '../../ramp/port.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { findOffRampSessionAtProvider, isAsAgreed } from '../warehouse/offRamp/findOffRampSession.ts';
import { OFF_RAMP_SESSIONS } from '../warehouse/offRamp/offRampMoves.ts';
import { noteHint } from '../warehouse/offRamp/receivePayoutHint.ts';

export interface ManualStatusInput {
  sessionId: string;
  status: RampStatus;
  /** The bank's or mobile money service's reference of the payment that the operator reports. */
  paymentReference?: string | null | undefined;
}

/**
 * @throws DomainError NOT_FOUND; CONFLICT when another provider is configured, or the payout must no longer
 *   be made; NetworkUnavailable
 */
export async function setManualSessionStatus(
  deps: Needs<'db' | 'network' | 'ramp' | 'manualRamp' | 'stateSignal' | 'log'>,
  operatorId: string,
  { sessionId, status, paymentReference }: ManualStatusInput,
  grant?: Grant,
): Promise<RampSession> {
  const change = { status, setBy: operatorId, paymentReference, approvalRequestId: grant?.requestId };
  const manualRamp = requireManualRamp(deps);
  if (status === 'processing') await requireHeld(deps, sessionId);
  const session = await manualRamp.setStatus(sessionId, change, async (tx) => {
    // Otherwise the poll comes late: an ended session is looked at only once an hour. The session is locked
    // first.
    await noteHint(tx, deps.ramp.name, sessionId);
    await grant?.confirm(tx);
  });
  deps.stateSignal.notify(OFF_RAMP_SESSIONS);
  deps.log.info({ providerSessionId: sessionId, status, caller: operatorId }, 'manual session status set');
  return session;
}

/**
 * Refuses a payout whose tokens are released: they were paid for or given back, but a restored database does
 * not know it. Refuses one whose deposit the network has lost.
 * @throws DomainError CONFLICT; NetworkUnavailable
 */
async function requireHeld({ db, network }: Needs<'db' | 'network'>, sessionId: string): Promise<void> {
  // By our reference: a restored database may not know the payout's id as its session's.
  const [session] = await db
    .select(getTableColumns(offRampSessions))
    .from(offRampSessions)
    .innerJoin(manualRampSessions, eq(offRampSessions.id, sql`${manualRampSessions.reference}::uuid`))
    .where(eq(manualRampSessions.id, sessionId));
  if (!session) return;
  const found = await network.offRampDeposit(session.settlementAddress, sessionId);
  // A reference whose deposit the network has lost can be used again, by a deposit of other tokens.
  const deposit =
    found !== null && (session.depositedAt === null || isAsAgreed(session, found)) ? found : null;
  // Before the deposit the operator doesn't get the account to pay to.
  if (deposit === null ? session.depositedAt === null : deposit.status === 'PENDING') return;
  const shown = deposit === null ? 'not deposited any more' : deposit.status;
  throw new DomainError(
    'CONFLICT',
    `The settlement contract shows the tokens of the payout as ${shown}, so it must not be made: do not pay.`,
    { field: 'input.sessionId', depositStatus: deposit?.status ?? null },
  );
}

/**
 * The whole account, for the person who makes the payout. Null while the deposit is not final: the payout
 * must not be made then.
 */
export async function readPayoutAccount(
  deps: Needs<'db' | 'ramp' | 'payoutAccounts'>,
  sessionId: string,
): Promise<PayoutAccount | null> {
  const session = await findOffRampSessionAtProvider(deps, sessionId);
  return session?.state === 'AWAITING_PAYOUT' ? deps.payoutAccounts.unseal(session) : null;
}

/** @throws DomainError CONFLICT when another provider is configured */
export function requireManualRamp({ ramp, manualRamp }: Needs<'ramp' | 'manualRamp'>): ManualControls {
  if (manualRamp !== null) return manualRamp;
  throw new DomainError(
    'CONFLICT',
    `Payouts are made by the provider "${ramp.name}", which sets their status itself.`,
  );
}

/**
 * Whether the session has this status already. False if another payment reference is given, which would be
 * lost.
 */
export async function hasManualStatus(
  { db, manualRamp }: Needs<'db' | 'manualRamp'>,
  { sessionId, status, paymentReference }: ManualStatusInput,
): Promise<boolean> {
  if (manualRamp === null) return false;
  const session = await findManualSession(db, eq(manualRampSessions.id, sessionId));
  if (session?.status !== status) return false;
  return paymentReference == null || session.paymentReference === paymentReference;
}
