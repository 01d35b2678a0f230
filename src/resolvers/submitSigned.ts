/**
 * submitSigned: what a wallet signed comes back, and goes the way of all submissions.
 *
 *   signed bytes ─▶ that act and nothing else? ─▶ intent + attempt committed ─▶ sent, asked and settled by the worker
 *
 * The same bytes again get the same answer. Other bytes, while the first can still land, only as a wallet's own fee
 * replacement: the same act in the same slot (signedByHolder.ts). Once the first is dead, other bytes are taken only
 * when they have landed already, as a wallet can send by itself what it has signed: then the act is done, and whoever
 * was told otherwise would do it twice.
 */
import { eq } from 'drizzle-orm';
import type { Tx } from '../db/connection.ts';
import { holderActs } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { NetworkRefusal, type PreparedTransaction } from '../ledger/network/port.ts';
import { addReplacement, enqueueSigned, NEVER_SIGNED_AGAIN } from '../ledger/submission/signedByHolder.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import { awaitSubject } from './awaitSubject.ts';
import { lockCashOut, moveTo } from './cashOutMoves.ts';
import { requireSettlementOf } from './checkCashOut.ts';
import type { Dependencies } from './dependencies.ts';
import { findCashOut, type CashOut } from './findCashOut.ts';
import { findHolderAct, readActTransactions, type HolderAct } from './findHolderAct.ts';

/**
 * @param act one that the caller may submit.
 * @returns the act in the state reached when the wait ended: LANDED, or SUBMITTED or NEEDS_REVIEW.
 * @throws DomainError BAD_USER_INPUT (not that act, or not its holder's signature), CONFLICT, LEDGER_REJECTED (refused,
 * or too late: prepare anew); NetworkUnavailable
 */
export async function submitSigned(deps: Dependencies, act: HolderAct, signed: string): Promise<HolderAct> {
  const opened = await openSigned(deps, act, signed);
  const isLanded = await hasLandedAlready(deps, act, opened);
  const subjectId = await commit(deps, act, { opened, isLanded });
  await deps.submission.checkpoint('attempt-committed');
  deps.subjects.ring(NEW_SUBMISSION);

  const current = await awaitSubject(
    deps,
    subjectId,
    async () => {
      const read = await findHolderAct(deps, act.id);
      if (!read) throw new Error(`holder's act ${act.id} has vanished`);
      return read;
    },
    ({ state }) => state !== 'SUBMITTED',
  );
  if (current.state === 'REFUSED' || current.state === 'EXPIRED') {
    const reason = current.submission?.refusalReason ?? null;
    throw rejected(act, reason, current.submission?.message ?? '');
  }
  return current;
}

async function openSigned(deps: Dependencies, act: HolderAct, signed: string): Promise<PreparedTransaction> {
  try {
    const opened = await deps.network.openSigned(act.call, act.unsigned, signed);
    // The wallet may have sent it by itself, before it came here.
    const { preparedAtLedger } = act;
    return opened.preparedAtLedger < preparedAtLedger ? opened : { ...opened, preparedAtLedger };
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    throw new DomainError('BAD_USER_INPUT', error.message, { field: 'input.signed', reason: error.reason });
  }
}

/**
 * Asked where it comes too late to be sent, or where nobody waits for it: the wallet may have sent it by itself.
 * @throws DomainError LEDGER_REJECTED when its time is over, and it has not landed; CONFLICT when another is dead, and
 * this one can't be told to be
 */
async function hasLandedAlready(
  deps: Dependencies,
  act: HolderAct,
  opened: PreparedTransaction,
): Promise<boolean> {
  if (act.state === 'EXPIRED') return hasLandedInstead(deps, act, opened);
  if (act.submission !== null) return false;
  const { validUntil } = opened;
  const isPast = validUntil !== null && (await deps.network.status()).closedAt > validUntil;
  if (!isPast && (act.cashOutSessionId === null || isAwaited(deps, await sessionOf(deps, act)))) return false;
  const { status } = await deps.network.outcome(opened);
  if (isPast && (status === 'dead' || status === 'undeterminable')) {
    throw rejected(act, NEVER_SIGNED_AGAIN.reason, NEVER_SIGNED_AGAIN.message);
  }
  return status === 'succeeded';
}

/** Other bytes than those that are proved dead. */
async function hasLandedInstead(
  deps: Dependencies,
  act: HolderAct,
  opened: PreparedTransaction,
): Promise<boolean> {
  const known = await readActTransactions(deps, act);
  if (known.some(({ txHash }) => txHash === opened.hash)) return false;
  const { status } = await deps.network.outcome(opened);
  if (status === 'succeeded') return true;
  if (status === 'refused' || status === 'dead') return false;
  const { hash: txHash } = opened;
  const whatToDo =
    status === 'pending'
      ? 'can still land. If the wallet has sent it by itself, submit it once more in a while; prepare it anew only if not.'
      : 'may have landed, which the history of the network no longer tells: look for it before you prepare it anew.';
  throw new DomainError('CONFLICT', `What was signed for it before is over, but ${txHash} ${whatToDo}`, {
    actId: act.id,
    txHash,
  });
}

function rejected(act: HolderAct, reason: string | null, message: string): DomainError {
  return new DomainError('LEDGER_REJECTED', message, { actId: act.id, reason });
}

interface Signed {
  opened: PreparedTransaction;
  /** Then nothing is left to be prevented: it is only to be known. */
  isLanded: boolean;
}

/** @returns the subject of the submission that carries it, for whoever waits. */
async function commit(deps: Dependencies, act: HolderAct, signed: Signed): Promise<string> {
  const { cashOutSessionId, call } = act;
  // An approval moves nothing of its session, and there may be several.
  const subjectId = call.kind === 'initiateOffRamp' && cashOutSessionId !== null ? cashOutSessionId : act.id;
  if (call.kind !== 'retire' && act.submission === null)
    await requireSettlementOf(deps.network, await sessionOf(deps, act));
  const isNew = act.submission === null || (act.state === 'EXPIRED' && signed.isLanded);
  const known = isNew ? await commitNew(deps, act, subjectId, signed) : (act.submission?.id ?? null);
  // Settling locks the submission before the session and the act, so what has a submission is left to it alone.
  if (known !== null) await deps.db.transaction((tx) => addReplacement(tx, deps, known, signed.opened));
  return subjectId;
}

/** @returns null, or the submission that was faster: nothing was written then. */
async function commitNew(
  deps: Dependencies,
  act: HolderAct,
  subjectId: string,
  { opened, isLanded }: Signed,
): Promise<string | null> {
  const { cashOutSessionId, call } = act;
  return deps.db.transaction(async (tx) => {
    // The session before the act, as everywhere.
    const session = cashOutSessionId === null ? null : await lockCashOut(tx, cashOutSessionId);
    const submissionId = await lockAct(tx, act.id);
    if (submissionId !== null && submissionId !== act.submission?.id) return submissionId;
    if (session !== null && !isLanded && !isAwaited(deps, session)) throw notAwaited(session);
    if (session?.state === 'AWAITING_SIGNATURE' && call.kind === 'initiateOffRamp') {
      await moveTo(tx, session, 'DEPOSITING');
    }
    const created = await enqueueSigned(tx, deps, { subjectId, call }, opened);
    await tx.update(holderActs).set({ submissionId: created }).where(eq(holderActs.id, act.id));
    return null;
  });
}

async function sessionOf(deps: Dependencies, act: HolderAct): Promise<CashOut> {
  const session = act.cashOutSessionId === null ? null : await findCashOut(deps, act.cashOutSessionId);
  if (!session) throw new Error(`holder's act ${act.id} has no cash-out session`);
  return session;
}

async function lockAct(tx: Tx, id: string): Promise<string | null> {
  const [act] = await tx
    .select({ submissionId: holderActs.submissionId })
    .from(holderActs)
    .where(eq(holderActs.id, id))
    .for('update');
  if (!act) throw new Error(`holder's act ${id} has vanished`);
  return act.submissionId;
}

/** A deposit that nobody waits for would only have to be given back. */
function isAwaited(deps: Dependencies, { state, signUntil }: CashOut): boolean {
  return state === 'AWAITING_SIGNATURE' && signUntil !== null && deps.clock.now() <= signUntil;
}

function notAwaited({ id, state }: CashOut): DomainError {
  const where = state === 'AWAITING_SIGNATURE' ? 'past the time that it had for the signature' : state;
  return new DomainError(
    'CONFLICT',
    `The cash-out ${id} is ${where}: nothing more is signed for it. Begin another one.`,
    { state },
  );
}
