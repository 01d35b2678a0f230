/**
 * submitSigned: takes a transaction that a wallet signed and passes it to submission.
 *
 *   signed bytes ─▶ exactly the prepared act? ─▶ intent, attempt committed ─▶ the worker sends, asks, settles
 *
 * The same bytes again get the same answer. While the first bytes can still land, other bytes are accepted
 * only as a wallet's fee replacement: the same act in the same sequence slot (signedByHolder.ts). Once the
 * first are dead, other bytes are accepted only when they have landed already, because a wallet can send what
 * it has signed. The act is then done, and a client that got another answer would do it twice.
 */
import { lockById, updateById } from '../../db/findByIds.ts';
import { holderActs } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { NetworkRefusal, type PreparedTransaction } from '../../ledger/network/port.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import { addReplacement, enqueueSigned, NEVER_SIGNED_AGAIN } from '../../ledger/submission/signedByHolder.ts';
import { NEW_SUBMISSION } from '../../ledger/submission/submission.ts';
import { awaitState } from '../core/awaitState.ts';
import { applyEvent } from '../warehouse/offRamp/applyEvent.ts';
import { lockOffRampSession } from '../warehouse/offRamp/offRampMoves.ts';
import { requireSettlementOf } from '../warehouse/offRamp/checkCashOut.ts';
import type { Needs } from '../core/dependencies.ts';
import { requireOffRampSession, type OffRampSession } from '../warehouse/offRamp/findOffRampSession.ts';
import { readActTransactions, requireHolderAct, type HolderAct } from './findHolderAct.ts';
import { isSignatureAwaited, requireSignatureAwaited } from '../warehouse/offRamp/stepHolderDeposit.ts';

type CommitNeeds = Needs<'db' | 'network' | 'clock' | 'ids'>;

/**
 * @param act an act that the caller may submit.
 * @returns the act in the state reached when the wait ended: LANDED, or SUBMITTED or NEEDS_REVIEW.
 * @throws DomainError BAD_USER_INPUT (another act, or not its holder's signature), CONFLICT, LEDGER_REFUSED
 *   (refused, or too late: prepare another); NetworkUnavailable
 */
export async function submitSigned(
  deps: Needs<keyof CommitNeeds | 'submission' | 'stateSignal' | 'mutationWaitMs'>,
  act: HolderAct,
  signed: string,
): Promise<HolderAct> {
  const opened = await openSigned(deps, act, signed);
  const session = await unsignedSessionOf(deps, act);
  const isLanded = await hasLandedAlready(deps, act, opened, session);
  if (session !== null) await requireSettlementOf(deps.network, session);
  const targetId = await commit(deps, act, { opened, isLanded });
  await deps.submission.crashPoint('attempt-committed');
  deps.stateSignal.notify(NEW_SUBMISSION);

  const current = await awaitState(
    deps,
    targetId,
    () => requireHolderAct(deps, act.id),
    ({ state }) => state !== 'SUBMITTED',
  );
  if (current.state === 'REFUSED' || current.state === 'EXPIRED') {
    const reason = current.submission?.refusalReason ?? null;
    throw refusedByLedger(act, reason, current.submission?.stateReason ?? '');
  }
  return current;
}

async function openSigned(
  deps: Needs<'network'>,
  act: HolderAct,
  signed: string,
): Promise<PreparedTransaction> {
  try {
    return await deps.network.openSigned(act.call, act.unsigned, signed, act.submission === null);
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    throw new DomainError('BAD_USER_INPUT', error.message, { field: 'input.signed', reason: error.reason });
  }
}

/**
 * Asks the network about a transaction that is too late, or no longer awaited: the wallet may have sent it.
 * @throws DomainError LEDGER_REFUSED when its time is over, and it has not landed; CONFLICT when another
 *   transaction of the act is dead, and the outcome of this one is unknown
 */
async function hasLandedAlready(
  deps: Needs<'db' | 'network'>,
  act: HolderAct,
  opened: PreparedTransaction,
  session: OffRampSession | null,
): Promise<boolean> {
  if (act.state === 'EXPIRED') return hasLandedInstead(deps, act, opened);
  if (act.submission !== null) return false;
  const { validUntil } = opened;
  const isPast = validUntil !== null && (await deps.network.status()).closedAt > validUntil;
  if (!isPast && (session === null || (await isSignatureAwaited(deps, session)))) return false;
  const { status } = await deps.network.outcome(opened);
  if (isPast && (status === 'dead' || status === 'undeterminable')) {
    throw refusedByLedger(act, NEVER_SIGNED_AGAIN.reason, NEVER_SIGNED_AGAIN.message);
  }
  return status === 'succeeded';
}

/** Whether these bytes have landed in place of others that are proved dead. */
async function hasLandedInstead(
  deps: Needs<'db' | 'network'>,
  act: HolderAct,
  opened: PreparedTransaction,
): Promise<boolean> {
  const known = (await readActTransactions(deps, [act])).get(act) ?? [];
  if (known.some(({ txHash }) => txHash === opened.hash)) return false;
  const { status } = await deps.network.outcome(opened);
  if (status === 'succeeded') return true;
  if (status === 'refused' || status === 'dead') return false;
  const { hash: txHash } = opened;
  const whatToDo =
    status === 'pending'
      ? 'can still land. If the wallet has sent it, submit it again later; prepare another act only if it has not.'
      : 'may have landed, but the network no longer has that history: look for it before you prepare another act.';
  throw new DomainError(
    'CONFLICT',
    `The transaction that was submitted first is dead, but ${txHash} ${whatToDo}`,
    {
      holderActId: act.id,
      txHash,
    },
  );
}

function refusedByLedger(act: HolderAct, reason: string | null, message: string): DomainError {
  return new DomainError('LEDGER_REFUSED', message, { holderActId: act.id, reason });
}

interface Signed {
  opened: PreparedTransaction;
  /** Whether the transaction has landed: it can no longer be prevented, only recorded. */
  isLanded: boolean;
}

type Target = Pick<Submission, 'targetType' | 'targetId'>;

/** @returns the target of the act's submission, for callers that wait. */
async function commit(deps: CommitNeeds, act: HolderAct, signed: Signed): Promise<string> {
  const { offRampSessionId, call } = act;
  // An allowance does not move its session, and there may be several.
  const target: Target =
    call.kind === 'depositOffRamp' && offRampSessionId !== null
      ? { targetType: 'OFF_RAMP_SESSION', targetId: offRampSessionId }
      : { targetType: 'HOLDER_ACT', targetId: act.id };
  const isNew = act.submission === null || (act.state === 'EXPIRED' && signed.isLanded);
  const known = isNew ? await commitNew(deps, act, target, signed) : (act.submission?.id ?? null);
  // Settling locks the submission before the session and the act, so an act that has a submission is changed
  // through the submission only.
  if (known !== null) await deps.db.transaction((tx) => addReplacement(tx, deps, known, signed.opened));
  return target.targetId;
}

/** @returns null; or the id of a submission that was committed first, in which case nothing was written. */
async function commitNew(
  deps: CommitNeeds,
  act: HolderAct,
  target: Target,
  { opened, isLanded }: Signed,
): Promise<string | null> {
  const { offRampSessionId, call } = act;
  return deps.db.transaction(async (tx) => {
    // Lock order: the session before the act.
    const session = offRampSessionId === null ? null : await lockOffRampSession(tx, offRampSessionId);
    const { submissionId } = await lockById(tx, holderActs, act.id);
    if (submissionId !== null && submissionId !== act.submission?.id) return submissionId;
    if (session !== null && !isLanded) await requireSignatureAwaited({ db: tx }, session);
    if (session?.state === 'AWAITING_SIGNATURE' && call.kind === 'depositOffRamp') {
      await applyEvent(tx, deps, session, 'signed');
    }
    const created = await enqueueSigned(tx, deps, { ...target, call }, opened);
    await updateById(tx, holderActs, act.id, { submissionId: created });
    return null;
  });
}

/** The session of an act that was never submitted; null for a retirement, which has none. */
async function unsignedSessionOf(deps: Needs<'db'>, act: HolderAct): Promise<OffRampSession | null> {
  if (act.submission !== null || act.offRampSessionId === null) return null;
  return requireOffRampSession(deps, act.offRampSessionId);
}
