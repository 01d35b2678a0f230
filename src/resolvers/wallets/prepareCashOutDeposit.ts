/**
 * prepareCashOutDeposit: cashes out receipt tokens at a holder's own address, by the holder's signature.
 *
 *   checks ─▶ session OPENING ─▶ opened at the provider ─▶ AWAITING_SIGNATURE
 *          ─▶ the next thing to sign ─▶ submitSigned ─▶ … ─▶ deposited, and on as any off-ramp session
 *
 * A deposit names the provider's id of the session as its reference, so the session is opened first, and
 * closed again when the signature does not come (stepHolderDeposit.ts). A repeated request returns the next
 * act to sign: where deposits need an allowance, first the allowance, and the deposit once that has landed;
 * and a new transaction when the last one has expired.
 */
import { readDatabaseTime } from '../../db/databaseTime.ts';
import { NetworkRefusal, type HolderCall } from '../../ledger/network/port.ts';
import type { Quote } from '../../ramp/port.ts';
import { cashOut, dryRunCashOut, type CashOutInput } from '../warehouse/offRamp/cashOut.ts';
import {
  allowanceCall,
  depositCall,
  lockOffRampSession,
  requireOpenAtProvider,
  type OpenedOffRampSession,
} from '../warehouse/offRamp/offRampMoves.ts';
import { requireSettlementOf, requireUnexpired } from '../warehouse/offRamp/checkCashOut.ts';
import type { ReceiptCaller } from '../warehouse/findReceipt.ts';
import type { Needs } from '../core/dependencies.ts';
import { isExposed, type OffRampSession } from '../warehouse/offRamp/findOffRampSession.ts';
import { readHolderActs, requireHolderAct, type HolderAct } from './findHolderAct.ts';
import { prepareAct, requireHolder, storeAct } from './prepareAct.ts';
import { isSignatureAwaited, requireSignatureAwaited } from '../warehouse/offRamp/stepHolderDeposit.ts';

type PrepareNeeds = Needs<'db' | 'network' | 'ids'>;

export interface PrepareCashOutDepositInput extends CashOutInput {
  /** The address that holds the tokens, signs, and receives a refund. */
  holder: string;
}

export interface PreparedCashOut {
  session: OffRampSession;
  /** The act to sign now, or the one in progress; null when there is neither. */
  act: HolderAct | null;
}

/** A transaction with less time than this left is not worth signing. */
const SHORTEST_VALIDITY_SECONDS = 30n;
/** An older act's sequence (nonce) or fees may be out of date. */
const FRESH_MS = 60_000;

/** @throws like cashOut; DomainError BAD_USER_INPUT */
export async function prepareCashOutDeposit(
  deps: Parameters<typeof cashOut>[0] & PrepareNeeds,
  caller: ReceiptCaller,
  { holder, ...input }: PrepareCashOutDepositInput,
): Promise<PreparedCashOut> {
  const session = await cashOut(deps, caller, input, requireHolder(deps, holder));
  return { session, act: await nextAct(deps, session, caller.subject) };
}

/**
 * Makes every check, and changes nothing.
 * @throws the same errors as prepareCashOutDeposit, except IDEMPOTENCY_CONFLICT
 */
export function dryRunCashOutDeposit(
  deps: Parameters<typeof dryRunCashOut>[0],
  caller: ReceiptCaller,
  { holder, ...input }: PrepareCashOutDepositInput,
): Promise<Quote> {
  return dryRunCashOut(deps, caller, input, requireHolder(deps, holder));
}

async function nextAct(
  deps: PrepareNeeds,
  session: OffRampSession,
  preparedBy: string,
): Promise<HolderAct | null> {
  const latest = (await readHolderActs(deps, session.id)).at(-1) ?? null;
  if (!(await isSignatureAwaited(deps, session))) return latest?.state === 'SUBMITTED' ? latest : null;
  // A paid deposit is owed, even if the receipt has expired since.
  if (!isExposed(session)) await requireUnexpired(deps.network, session.tokenAddress);
  await requireSettlementOf(deps.network, session);
  const isUsable = latest !== null && (await isStillUsable(deps, latest));
  if (isUsable && latest.kind === 'depositOffRamp') return latest;

  const next = { session: requireOpenAtProvider(session), preparedBy, latest };
  const deposit = await prepareIfAllowed(deps, next);
  if (deposit !== null) return deposit;
  return isUsable ? latest : prepare(deps, next, allowanceCall(next.session));
}

interface NextAct {
  session: OpenedOffRampSession;
  /** The caller's subject. */
  preparedBy: string;
  /** The session's previous act. */
  latest: HolderAct | null;
}

/** Null when the holder has to set the allowance first. */
async function prepareIfAllowed(deps: PrepareNeeds, next: NextAct): Promise<HolderAct | null> {
  try {
    return await prepare(deps, next, depositCall(next.session));
  } catch (error) {
    const isShort = error instanceof NetworkRefusal && error.reason === 'INSUFFICIENT_ALLOWANCE';
    if (isShort && deps.network.depositsNeedAllowance) return null;
    throw error;
  }
}

async function prepare(
  deps: PrepareNeeds,
  { session, preparedBy, latest }: NextAct,
  call: HolderCall,
): Promise<HolderAct> {
  const { id: offRampSessionId, depositorAddress: holder } = session;
  const prepared = await prepareAct(deps, { call, holder, preparedBy, offRampSessionId });
  return deps.db.transaction(async (tx) => {
    const current = await lockOffRampSession(tx, offRampSessionId);
    // Of concurrent requests the first one prepares: a wallet that signed two acts would pay for one that is
    // refused.
    const meanwhile = (await readHolderActs({ db: tx }, offRampSessionId)).at(-1);
    if (meanwhile !== undefined && meanwhile.id !== latest?.id) return meanwhile;
    if (meanwhile?.state === 'SUBMITTED' && meanwhile.kind === 'depositOffRamp') return meanwhile;
    // The session may have been closed while the network was asked: a deposit signed now would be given back.
    await requireSignatureAwaited({ db: tx }, current);
    await storeAct(tx, prepared);
    return requireHolderAct({ db: tx }, prepared.id);
  });
}

/** A submitted allowance is awaited; a prepared act is returned again while it is fresh and valid. */
async function isStillUsable(deps: Needs<'db' | 'network'>, act: HolderAct): Promise<boolean> {
  if (act.state === 'SUBMITTED') return true;
  if (act.state !== 'PREPARED') return false;
  if ((await readDatabaseTime(deps.db)).getTime() - act.createdAt.getTime() > FRESH_MS) return false;
  const { validUntil } = act.unsigned;
  if (validUntil === null) return true;
  return validUntil > (await deps.network.status()).closedAt + SHORTEST_VALIDITY_SECONDS;
}
