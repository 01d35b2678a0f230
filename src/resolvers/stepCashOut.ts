/**
 * One look at one cash-out session: what the provider is asked, and what its answer decides.
 *
 *   OPENING          find or open the session at the provider, then deposit
 *   CLOSING          the deposit was refused: make sure that it is not there, then have the session closed
 *   AWAITING_PAYOUT  settled → confirm, failed → refund, refunded → review, anything else → look again later
 *   DEPOSITING       one that waits for its turn to deposit takes it when it has come
 *   elsewhere        the provider's status is recorded; at the end it must not contradict what was done
 *
 * While a holder is to sign the deposit, stepHolderCashOut.ts looks first.
 *
 * A step that is cut off anywhere is simply made again, by any instance: the provider finds the session by our
 * reference, and each move is made once under the session's row lock.
 */
import { and, eq, isNull } from 'drizzle-orm';
import { cashOutSessions } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { RampSession } from '../ramp/port.ts';
import {
  contradiction,
  giveBack,
  isOver,
  lockCashOut,
  moveTo,
  opened,
  openReview,
  recordStatus,
  resolve,
  type OpenedCashOut,
} from './cashOutMoves.ts';
import { checkCashOut } from './checkCashOut.ts';
import { deposit, stepWaitingDeposit } from './custodyDeposits.ts';
import { RECEIPT_TOKEN_SYMBOL } from './createDeposit.ts';
import type { Dependencies } from './dependencies.ts';
import { isAsAgreed, isByHolder, type CashOut } from './findCashOut.ts';
import { unsealAccount } from './payoutAccount.ts';
import {
  isReviewedAsForeign,
  isToBeGivenBack,
  paidWithoutDeposit,
  stepHolderCashOut,
} from './stepHolderCashOut.ts';

/** A provider that was asked just before the quote ran out may show the session a little later. */
const LATE_SESSION_GRACE_MS = 5 * 60_000;

/** @throws DomainError RAMP_UNAVAILABLE, RAMP_REJECTED; NetworkUnavailable: look again later. */
export async function stepCashOut(deps: Dependencies, session: CashOut): Promise<void> {
  if (session.state === 'OPENING') await openAtProvider(deps, session);
  else if (session.providerSessionId === null) return;
  else if (session.state === 'CLOSING') await closeAtProvider(deps, opened(session));
  else if (!isByHolder(session) || !(await stepHolderCashOut(deps, opened(session)))) {
    if (session.state === 'DEPOSITING') await stepWaitingDeposit(deps, session);
    await observe(deps, opened(session));
  }
}

async function openAtProvider(deps: Dependencies, session: CashOut): Promise<void> {
  const wasAsked = session.providerAskedAt !== null;
  const found = wasAsked ? await deps.ramp.findSessionByReference(session.id) : null;
  const rampSession = found ?? (await openNew(deps, session));
  if (rampSession) await storeOpened(deps, session.id, rampSession);
}

/** Null when nothing was opened: refused, or not to be asked again. */
async function openNew(deps: Dependencies, session: CashOut): Promise<RampSession | null> {
  const quoteAgeMs = deps.clock.now().getTime() - session.quoteExpiresAt.getTime();
  if (quoteAgeMs > 0) {
    if (session.providerAskedAt === null || quoteAgeMs > LATE_SESSION_GRACE_MS) {
      await refuse(
        deps,
        session.id,
        'RAMP_UNAVAILABLE',
        'the quote ran out before the provider could be reached',
      );
    }
    return null;
  }
  try {
    await checkCashOut(deps, session);
    await deps.db
      .update(cashOutSessions)
      .set({ providerAskedAt: deps.clock.now() })
      .where(and(eq(cashOutSessions.id, session.id), isNull(cashOutSessions.providerAskedAt)));
    return await deps.ramp.openSession({
      reference: session.id,
      quote: quoteOf(session),
      countryCode: session.countryCode,
      payoutAccount: unsealAccount(deps.sealer, session.sealedPayoutAccount),
    });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'RAMP_UNAVAILABLE') throw error;
    await refuse(deps, session.id, error.code, error.message);
    return null;
  }
}

/** Only while nothing is open at the provider, as far as it says. */
async function refuse(deps: Dependencies, id: string, code: string, message: string): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const session = await lockCashOut(tx, id);
    if (session.state !== 'OPENING') return;
    const closedAt = deps.clock.now();
    await moveTo(tx, session, 'REFUSED', { refusalCode: code, refusalMessage: message, closedAt });
  });
}

async function storeOpened(deps: Dependencies, id: string, rampSession: RampSession): Promise<void> {
  const { sessionId: providerSessionId, status } = rampSession;
  await deps.db.transaction(async (tx) => {
    const session = await lockCashOut(tx, id);
    if (session.state !== 'OPENING') return;
    await recordStatus(tx, deps, session, status);
    const known = { ...session, providerSessionId };
    if (status !== 'failed') {
      if (isByHolder(session)) await moveTo(tx, session, 'AWAITING_SIGNATURE', { providerSessionId });
      else await deposit(tx, deps, known, { providerSessionId });
      return;
    }
    const refusalMessage = 'the provider failed the payout as soon as it was opened';
    await moveTo(tx, session, 'CLOSING', {
      providerSessionId,
      refusalCode: 'RAMP_REJECTED',
      refusalMessage,
    });
  });
}

async function closeAtProvider(deps: Dependencies, session: OpenedCashOut): Promise<void> {
  if (isByHolder(session) && (await isReviewedAsForeign(deps, session))) return;
  // Refused, but there all the same? Then it is to be treated as what it is.
  const found = await deps.network.offRampDeposit(session.providerSessionId);
  if (found?.status === 'PENDING' && isAsAgreed(session, found)) {
    await deps.db.transaction(async (tx) => {
      const current = await lockCashOut(tx, session.id);
      if (current.state !== 'CLOSING') return;
      await moveTo(tx, current, 'AWAITING_PAYOUT', { depositedAt: deps.clock.now() });
    });
    return;
  }
  const status = await deps.ramp.closeSession(session.providerSessionId);
  await deps.db.transaction(async (tx) => {
    const current = opened(await lockCashOut(tx, session.id));
    if (current.state !== 'CLOSING') return;
    await recordStatus(tx, deps, current, status);
    if (status === 'failed') {
      const closed = { ...current, providerStatus: status };
      // Not what was agreed, but the holder's own tokens.
      if (isToBeGivenBack(closed, found)) await giveBack(tx, deps, closed);
      else await moveTo(tx, current, 'REFUSED', { closedAt: deps.clock.now() });
    } else if (status === 'settled' && isByHolder(current)) {
      await openReview(tx, deps, current, paidWithoutDeposit(status));
    } else if (status === 'settled') {
      // Paid after all: now the tokens are owed. A second refusal goes to an operator.
      await deposit(tx, deps, current);
    } else if (status === 'refunded') {
      await openReview(tx, deps, current, 'the provider says "refunded" of a session without a deposit');
    }
  });
}

async function observe(deps: Dependencies, session: OpenedCashOut): Promise<void> {
  const status = await deps.ramp.getStatus(session.providerSessionId);
  await deps.db.transaction(async (tx) => {
    const current = opened(await lockCashOut(tx, session.id));
    const isNew = await recordStatus(tx, deps, current, status);
    if (current.state === 'AWAITING_PAYOUT') {
      if (status === 'settled') await resolve(tx, deps, current, 'SETTLE');
      else if (status === 'failed') await resolve(tx, deps, current, 'REFUND');
      else if (status === 'refunded')
        await openReview(tx, deps, current, 'the provider says that it took the payout back');
      return;
    }
    // An operator who accepted a contradiction is not asked about it again.
    const conflict = isNew && isOver(current.state) ? contradiction(current.state, status) : null;
    if (conflict !== null) await openReview(tx, deps, current, conflict);
  });
}

function quoteOf(session: CashOut) {
  return {
    tokenAmount: session.tokenAmountKg,
    tokenSymbol: RECEIPT_TOKEN_SYMBOL,
    fiatCurrency: session.fiatCurrency,
    fiatAmount: session.fiatAmount,
    feeFiat: session.feeFiat,
    feeBps: session.feeBps,
    exchangeRate: session.exchangeRate,
    expiresAt: session.quoteExpiresAt,
  };
}
