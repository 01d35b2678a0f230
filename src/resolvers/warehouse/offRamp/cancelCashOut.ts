/**
 * cancelCashOut: asks that an off-ramp session ends without a payout.
 *
 *   request committed with the session ─▶ the provider is asked not to pay ─▶ it agrees: ended, or refunded
 *                                                                          └▶ paid: confirmed, or to review
 *
 * The session's row lock orders the request and the provider's status. The looks that follow
 * (stepOffRampSession.ts) ask the provider repeatedly until it pays or agrees.
 */
import { sql } from 'drizzle-orm';
import { DomainError } from '../../../lib/errors.ts';
import { notVisible } from '../../../lib/notFound.ts';
import { awaitState } from '../../core/awaitState.ts';
import type { Needs } from '../../core/dependencies.ts';
import { reserveKey } from '../../core/idempotency.ts';
import { applyEvent } from './applyEvent.ts';
import type { ReceiptCaller } from '../findReceipt.ts';
import { findOffRampSession, requireOffRampSession, type OffRampSession } from './findOffRampSession.ts';
import { HINT, isDepositUnderWay, lockOffRampSession, OFF_RAMP_SESSIONS } from './offRampMoves.ts';
import { WAITING_FOR_PROVIDER } from './transitions.ts';

interface CancelCashOutInput {
  offRampSessionId: string;
  idempotencyKey: string;
}

/** Why a session that was cancelled before its deposit ends as CLOSED. */
const CANCELLED = { refusalCode: 'CONFLICT', stateReason: 'it was cancelled' };

/**
 * @returns the session in the state reached when the wait ended: CLOSED, REFUNDING or REFUNDED when it is
 *   cancelled, CONFIRMING or SETTLED when the payout was faster, and otherwise a state before these.
 * @throws DomainError NOT_FOUND, CONFLICT (paid, ended, under review, or of another provider),
 *   IDEMPOTENCY_CONFLICT
 */
export async function cancelCashOut(
  deps: Needs<'db' | 'ramp' | 'submission' | 'stateSignal' | 'mutationWaitMs'>,
  caller: ReceiptCaller,
  input: CancelCashOutInput,
): Promise<OffRampSession> {
  const { id } = await requireOwn(deps, caller, input);
  const request = {
    callerSubject: caller.subject,
    operation: 'cancelCashOut',
    key: input.idempotencyKey,
    input: { sessionId: id },
  };
  await deps.db.transaction(async (tx) => {
    const session = await lockOffRampSession(tx, id);
    const isRepeated = (await reserveKey(tx, request, id)) !== null;
    if (isRepeated || session.cancelRequestedAt !== null) return;
    requireCancellable(deps, session);
    await applyEvent(tx, deps.submission, session, 'cancelled', {
      values: {
        ...(session.state === 'AWAITING_PAYOUT' ? {} : CANCELLED),
        cancelRequestedAt: sql`now()`,
        cancelRequestedBy: caller.subject,
        // A look that is under way does not know the cancellation yet, so another look follows.
        hints: HINT.hints,
      },
      isUnderWay: await isDepositUnderWay(tx, session),
    });
  });
  deps.stateSignal.notify(OFF_RAMP_SESSIONS);
  return awaitState(
    deps,
    id,
    () => requireOffRampSession(deps, id),
    ({ state }) => !WAITING_FOR_PROVIDER.includes(state),
  );
}

async function requireOwn(
  deps: Needs<'db' | 'ramp'>,
  { subject, isOperator }: ReceiptCaller,
  { offRampSessionId }: CancelCashOutInput,
): Promise<OffRampSession> {
  const session = await findOffRampSession(deps, offRampSessionId);
  if (session !== null && (isOperator || session.farmerId === subject)) return session;
  throw notVisible('off-ramp session', 'input.offRampSessionId');
}

function requireCancellable({ ramp }: Needs<'ramp'>, session: OffRampSession): void {
  const { state, providerStatus, providerName } = session;
  const isPaid = providerStatus === 'settled' || providerStatus === 'refunded';
  let reason: string | null = null;
  if (isPaid) reason = `the provider says "${providerStatus}"`;
  else if (!WAITING_FOR_PROVIDER.includes(state)) reason = `it is ${state}`;
  else if (providerName !== ramp.name) reason = 'it belongs to a ramp provider that is not configured';
  if (reason === null) return;
  throw new DomainError('CONFLICT', `The off-ramp session can't be cancelled: ${reason}.`, {
    field: 'input.offRampSessionId',
    state,
  });
}
