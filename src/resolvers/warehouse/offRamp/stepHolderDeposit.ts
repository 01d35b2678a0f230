/**
 * One look at a cash-out whose deposit a holder signs. The wallet may send a prepared deposit itself, at any
 * time, on some networks forever. So the settlement contract is asked, not only our own submission.
 * transitions.ts says what follows.
 */
import type { Tx } from '../../../db/connection.ts';
import { readDatabaseTime } from '../../../db/databaseTime.ts';
import { updateById } from '../../../db/findByIds.ts';
import { offRampSessions } from '../../../db/tables/index.ts';
import type { OffRampDeposit } from '../../../ledger/network/port.ts';
import { DomainError } from '../../../lib/errors.ts';
import type { RampStatus } from '../../../ramp/port.ts';
import { applyEvent, giveBack } from './applyEvent.ts';
import { orReview } from './askProvider.ts';
import {
  DEPOSITED,
  HINT,
  OFF_RAMP_SESSIONS,
  isAcknowledged,
  isEnd,
  lockOffRampSession,
  moveFrom,
  recordStatus,
  type OpenedOffRampSession,
} from './offRampMoves.ts';
import { describeUndeposited } from './checkCashOut.ts';
import { findDeposit, ownDeposit, readDeposit } from './findDeposit.ts';
import type { Needs } from '../../core/dependencies.ts';
import {
  endedUnseen,
  isAsAgreed,
  isOfHolder,
  isUndepositedReview,
  mayBeDepositedLate,
  type OffRampSession,
} from './findOffRampSession.ts';
import { readHolderActs } from '../../wallets/findHolderAct.ts';

type HolderDepositNeeds = Needs<'db' | 'network' | 'ramp' | 'submission'>;

/** Longer than any network takes to make a transaction final that was sent just before the deadline. */
const LANDING_GRACE_MS = 60 * 60_000;
/** Reasons for closing a session without a deposit. */
const FAILED = {
  refusalCode: 'RAMP_REFUSED',
  stateReason: 'the provider failed the payout before the deposit',
};
const NOT_SIGNED = { refusalCode: 'CONFLICT', stateReason: 'the signed deposit did not come in time' };
const NOT_LANDED = {
  refusalCode: 'LEDGER_REFUSED',
  stateReason: 'the signed deposit did not land in time; should it land later, it is given back',
};

/** @returns whether the provider was asked too, so that the step is complete */
export async function stepHolderDeposit(
  deps: HolderDepositNeeds,
  session: OpenedOffRampSession,
): Promise<boolean> {
  const { state } = session;
  if (state === 'AWAITING_SIGNATURE') await stepAwaitingSignature(deps, session);
  else if (state === 'DEPOSITING') await stepDepositing(deps, session);
  else if (isUndepositedReview(session)) await stepUndepositedReview(deps, session);
  else if (mayBeDepositedLate(session)) await stepLateDeposit(deps, session);
  return state === 'AWAITING_SIGNATURE' || state === 'DEPOSITING';
}

async function stepAwaitingSignature(deps: HolderDepositNeeds, session: OpenedOffRampSession): Promise<void> {
  const found = await readDeposit(deps, session);
  const own = await ownDeposit(deps, session, found);
  const answer = await orReview(deps, session, deps.ramp.getStatus(session.providerSessionId));
  if (answer === null) return;
  const { status } = answer;
  const isTimeOver = await isSigningOver(deps, session);
  await deps.db.transaction(async (tx) => {
    const current = await lockOffRampSession(tx, session.id);
    await recordStatus(tx, current, status);
    if (current.state !== 'AWAITING_SIGNATURE') return;
    const ended = endedUnseen(current, own);
    if (own?.status === 'PENDING' && isAsAgreed(current, own)) {
      await applyEvent(tx, deps.submission, current, 'deposited', { values: DEPOSITED });
    } else if (ended !== null && isEnd(status)) {
      await applyEvent(tx, deps.submission, current, 'undecidable', { reason: ended });
    } else if (await isPaidUnexpectedly(tx, current, status)) {
      await applyEvent(tx, deps.submission, current, 'undecidable', {
        reason: describeUndeposited(current, status),
      });
    } else if (status === 'failed')
      await applyEvent(tx, deps.submission, current, 'providerFailed', { values: FAILED });
    else if (found !== null) {
      await applyEvent(tx, deps.submission, current, 'referenceUsed', { values: usedUpBy(found) });
    } else if (isTimeOver && (await millisecondsPast({ db: tx }, current)) > 0) {
      // Read again under the lock: an operator may have extended the time to sign since.
      await applyEvent(tx, deps.submission, current, 'signingOver', { values: NOT_SIGNED });
    }
  });
}

/**
 * Submission sends the deposit and asks the network. This step checks the rest: the time, and the provider's
 * status.
 */
async function stepDepositing(deps: HolderDepositNeeds, session: OpenedOffRampSession): Promise<void> {
  const answer = await orReview(deps, session, deps.ramp.getStatus(session.providerSessionId));
  if (answer === null) return;
  const { status } = answer;
  const acts = await readHolderActs(deps, session.id);
  const mayWaitForEver = acts.some(
    ({ state, unsigned }) => state === 'SUBMITTED' && unsigned.validUntil === null,
  );
  await deps.db.transaction(async (tx) => {
    const current = await lockOffRampSession(tx, session.id);
    await recordStatus(tx, current, status);
    if (current.state !== 'DEPOSITING') return;
    if (await isPaidUnexpectedly(tx, current, status)) {
      await applyEvent(tx, deps.submission, current, 'undecidable', {
        reason: describeUndeposited(current, status),
      });
    } else if (mayWaitForEver && (await millisecondsPast({ db: tx }, current)) > LANDING_GRACE_MS) {
      await applyEvent(tx, deps.submission, current, 'signingOver', { values: NOT_LANDED });
    }
  });
}

/** Looks for the deposit that an operator needs most: one that is paid for, or not known to have landed. */
async function stepUndepositedReview(deps: HolderDepositNeeds, session: OpenedOffRampSession): Promise<void> {
  const found = await findDeposit(deps, session);
  if (found?.status !== 'PENDING' || !isAsAgreed(session, found)) return;
  await moveFrom(deps, session, async (tx, current) => {
    if (current.depositedAt !== null) return;
    await applyEvent(tx, deps.submission, current, 'deposited', { values: DEPOSITED });
  });
}

/**
 * After a session was closed, the depositor gets the deposit back, unless the provider has paid after all.
 */
async function stepLateDeposit(deps: HolderDepositNeeds, session: OpenedOffRampSession): Promise<void> {
  const found = await findDeposit(deps, session);
  const reason = endedUnseen(session, found);
  if (reason === null && !isToBeGivenBack(session, found)) return;
  await moveFrom(deps, session, (tx, current) =>
    reason === null
      ? giveBack(tx, deps.submission, current)
      : applyEvent(tx, deps.submission, current, 'undecidable', { reason }),
  );
}

/**
 * For a session that is closed at the provider. Other tokens than the receipt's do not concern the session.
 */
export function isToBeGivenBack(
  session: OffRampSession,
  found: OffRampDeposit | null,
): found is OffRampDeposit {
  return found?.status === 'PENDING' && isOfHolder(session, found);
}

/** Makes a session due when a caller asks about it and its deposit may have come unnoticed. */
export async function pollSoon(deps: Needs<'db' | 'stateSignal'>, session: OffRampSession): Promise<void> {
  if (!mayBeDepositedLate(session)) return;
  await updateById(deps.db, offRampSessions, session.id, HINT);
  deps.stateSignal.notify(OFF_RAMP_SESSIONS);
}

/** Milliseconds since the deadline for the signature; negative before the deadline. */
async function millisecondsPast(deps: Needs<'db'>, { signatureDueAt }: OffRampSession): Promise<number> {
  return signatureDueAt === null ? 0 : (await readDatabaseTime(deps.db)).getTime() - signatureDueAt.getTime();
}

/** Whether the holder's signature is still awaited. */
export async function isSignatureAwaited(deps: Needs<'db'>, session: OffRampSession): Promise<boolean> {
  const { state, signatureDueAt } = session;
  if (state !== 'AWAITING_SIGNATURE' || signatureDueAt === null) return false;
  return (await millisecondsPast(deps, session)) <= 0;
}

/** A deposit that is no longer awaited would have to be refunded. @throws DomainError CONFLICT */
export async function requireSignatureAwaited(deps: Needs<'db'>, session: OffRampSession): Promise<void> {
  if (await isSignatureAwaited(deps, session)) return;
  const { state } = session;
  const where = state === 'AWAITING_SIGNATURE' ? 'past its deadline for the signature' : state;
  // A session under review may be paid: another one would be paid too.
  const advice =
    state === 'NEEDS_REVIEW' ? 'Wait until an operator has decided about it.' : 'Begin another one.';
  throw new DomainError(
    'CONFLICT',
    `The off-ramp session is ${where}: nothing more is signed for it. ${advice}`,
    { state },
  );
}

/** Whether the deadline has passed, and no prepared deposit that expires can land any more. */
async function isSigningOver(deps: Needs<'db' | 'network'>, session: OffRampSession): Promise<boolean> {
  if ((await millisecondsPast(deps, session)) <= 0) return false;
  const acts = await readHolderActs(deps, session.id);
  const lastMoments = acts
    .filter(({ kind, state }) => kind === 'depositOffRamp' && state === 'PREPARED')
    .map(({ unsigned }) => unsigned.validUntil ?? 0n);
  if (lastMoments.length === 0) return true;
  const { closedAt } = await deps.network.status();
  return lastMoments.every((lastMoment) => closedAt > lastMoment);
}

/** Whether the provider has paid without a deposit. An operator who has decided is not asked again. */
async function isPaidUnexpectedly(tx: Tx, session: OffRampSession, status: RampStatus): Promise<boolean> {
  if (status !== 'settled' && status !== 'refunded') return false;
  return !(await isAcknowledged(tx, session.id));
}

function usedUpBy({ amount, tokenAddress, depositor }: OffRampDeposit) {
  const stateReason = `its reference was used up by a deposit of ${amount} base units of ${tokenAddress} by ${depositor}`;
  return { refusalCode: 'LEDGER_REFUSED', stateReason };
}
