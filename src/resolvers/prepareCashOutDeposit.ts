/**
 * prepareCashOutDeposit: receipt tokens at a holder's own address are cashed out, by the holder's own signature.
 *
 *   checks ─▶ session OPENING ─▶ opened at the provider ─▶ AWAITING_SIGNATURE
 *          ─▶ the next thing to sign ─▶ submitSigned ─▶ … ─▶ deposited, and on as any cash-out
 *
 * The reference that a deposit names is the provider's id of the session, so the session is opened first, and closed
 * again when the signature does not come (stepHolderCashOut.ts). The same request again gives what is to be signed
 * next: where deposits need an approval, first that, and the deposit once the approval has landed; and a fresh
 * transaction in place of one whose time is over.
 */
import { NetworkRefusal, type HolderCall } from '../ledger/network/port.ts';
import { beginCashOut, type CashOutCaller, type CashOutInput } from './beginCashOut.ts';
import { approvalCall, depositCall, opened, type OpenedCashOut } from './cashOutMoves.ts';
import { requireSettlementOf, requireUnexpired } from './checkCashOut.ts';
import type { Dependencies } from './dependencies.ts';
import type { CashOut, CashOutState } from './findCashOut.ts';
import { findHolderAct, readHolderActs, type HolderAct } from './findHolderAct.ts';
import { prepareAct, requireHolder, storeAct } from './prepareAct.ts';

export interface PrepareCashOutDepositInput extends CashOutInput {
  /** Whose tokens they are, who signs, and where a refund goes. */
  holder: string;
}

export interface PreparedCashOut {
  session: CashOut;
  /** What to sign now, or what is on its way; null when nothing is. */
  act: HolderAct | null;
}

const BEING_OPENED: ReadonlySet<CashOutState> = new Set(['OPENING']);
/** A transaction with less time than this left is not worth signing. */
const SHORTEST_VALIDITY_SECONDS = 30n;
/** After this its sequence (nonce) or its fees may be out of date. */
const FRESH_MS = 60_000;

/** @throws like beginCashOut; DomainError BAD_USER_INPUT */
export async function prepareCashOutDeposit(
  deps: Dependencies,
  caller: CashOutCaller,
  { holder, ...input }: PrepareCashOutDepositInput,
): Promise<PreparedCashOut> {
  const session = await beginCashOut(deps, caller, {
    operation: 'prepareCashOutDeposit',
    input,
    holder: requireHolder(deps, holder),
    waitWhile: BEING_OPENED,
  });
  return { session, act: await nextAct(deps, session, caller.subject) };
}

async function nextAct(deps: Dependencies, session: CashOut, preparedBy: string): Promise<HolderAct | null> {
  const latest = (await readHolderActs(deps, session.id)).at(-1) ?? null;
  const isAwaited = session.state === 'AWAITING_SIGNATURE' && !isPast(deps, session.signUntil);
  if (!isAwaited) return latest?.state === 'SUBMITTED' ? latest : null;
  await requireUnexpired(deps.network, session.tokenAddress);
  await requireSettlementOf(deps.network, session);
  const isUsable = latest !== null && (await isStillUsable(deps, latest));
  if (isUsable && latest.kind === 'initiateOffRamp') return latest;

  const known = opened(session);
  const deposit = await prepareUnlessUnapproved(deps, known, preparedBy);
  if (deposit !== null) return deposit;
  return isUsable ? latest : prepare(deps, known, preparedBy, approvalCall(known));
}

/** Null when the holder has to approve it first. */
async function prepareUnlessUnapproved(
  deps: Dependencies,
  session: OpenedCashOut,
  preparedBy: string,
): Promise<HolderAct | null> {
  try {
    return await prepare(deps, session, preparedBy, depositCall(session));
  } catch (error) {
    const isUnapproved = error instanceof NetworkRefusal && error.reason === 'INSUFFICIENT_ALLOWANCE';
    if (isUnapproved && deps.network.depositsNeedApproval) return null;
    throw error;
  }
}

async function prepare(
  deps: Dependencies,
  session: OpenedCashOut,
  preparedBy: string,
  call: HolderCall,
): Promise<HolderAct> {
  const { id: cashOutSessionId, depositorAddress: holder } = session;
  const prepared = await prepareAct(deps, { call, holder, preparedBy, cashOutSessionId });
  await storeAct(deps.db, prepared);
  const act = await findHolderAct(deps, prepared.id);
  if (!act) throw new Error(`holder's act ${prepared.id} has vanished`);
  return act;
}

/** An approval that is on its way is waited for; what was prepared is given out again while it is good. */
async function isStillUsable(deps: Dependencies, act: HolderAct): Promise<boolean> {
  if (act.state === 'SUBMITTED') return true;
  if (act.state !== 'PREPARED') return false;
  if (deps.clock.now().getTime() - act.createdAt.getTime() > FRESH_MS) return false;
  const { validUntil } = act.unsigned;
  if (validUntil === null) return true;
  return validUntil > (await deps.network.status()).closedAt + SHORTEST_VALIDITY_SECONDS;
}

function isPast(deps: Dependencies, signUntil: Date | null): boolean {
  return signUntil === null || deps.clock.now() > signUntil;
}
