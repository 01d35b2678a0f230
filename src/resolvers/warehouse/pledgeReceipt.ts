/**
 * pledgeReceipt: a farmer pledges a receipt to a lender. Until the pledge is released, the receipt can't be
 * cashed out or pledged again. The database refuses a second open pledge, a new off-ramp session of a pledged
 * receipt, and a pledge while a session is open, whichever program writes (check_receipt_is_free,
 * check_pledge). A session that ended before the pledge may still continue when its payout or deposit comes
 * late. Then only the program refuses an operator's RETRY (requireStillFree), and nothing refuses a deposit
 * that landed.
 *
 * The network does not know the pledge. Tokens at a holder's own address can be transferred in spite of it,
 * but not cashed out here.
 */
import type { Tx } from '../../db/connection.ts';
import { TRANSACTION_TIME } from '../../db/databaseTime.ts';
import { lockById, requireById } from '../../db/findByIds.ts';
import { receiptPledges, receipts } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import { findFirstUseOrBegin, reserveKey, type IdempotentRequest } from '../core/idempotency.ts';
import { requireUnexpired } from './offRamp/checkCashOut.ts';
import { requireUnpledged, type ReceiptPledge } from './findPledge.ts';
import {
  requireActive,
  requireOwnReceipt,
  type ReceiptCaller,
  type TokenizedReceipt,
} from './findReceipt.ts';
import { remainingOf, readTaken } from './readTaken.ts';

export interface PledgeReceiptInput {
  receiptTokenAddress: string;
  lenderName: string;
  /** The subject of the lender's token, who may then release the pledge. */
  lenderId?: string | null | undefined;
  loanReference: string;
  idempotencyKey: string;
}

/**
 * @returns the pledge of the key's first use.
 * @throws DomainError NOT_FOUND, RECEIPT_PLEDGED, RECEIPT_EXPIRED, CONFLICT (not active, being cashed out, or
 *   nothing left), IDEMPOTENCY_CONFLICT; NetworkUnavailable
 */
export async function pledgeReceipt(
  deps: Needs<'db' | 'network' | 'ids' | 'stateSignal'>,
  caller: ReceiptCaller,
  { idempotencyKey: key, ...input }: PledgeReceiptInput,
): Promise<ReceiptPledge> {
  const receipt = await requireOwnReceipt(deps, caller, input.receiptTokenAddress);
  const id = deps.ids.next();
  const lenderId = input.lenderId ?? null;
  const request = {
    callerSubject: caller.subject,
    operation: 'pledgeReceipt',
    key,
    input: { ...input, lenderId, receiptTokenAddress: receipt.tokenAddress },
  };
  const { lenderName, loanReference } = input;
  const pledge = { id, lenderName, lenderId, loanReference, pledgedBy: caller.subject };
  // The receipt may have expired since the first use.
  const pledgeId = await findFirstUseOrBegin(deps.db, request, () => begin(deps, receipt, request, pledge));
  deps.stateSignal.notify(receipt.id);
  return requireById(deps.db, receiptPledges, pledgeId);
}

async function begin(
  deps: Needs<'db' | 'network'>,
  receipt: TokenizedReceipt,
  request: IdempotentRequest,
  pledge: Pick<ReceiptPledge, 'id' | 'lenderName' | 'lenderId' | 'loanReference' | 'pledgedBy'>,
): Promise<string> {
  // The expiry job changes the state only hours after the expiry date, so the network is asked.
  await requireUnexpired(deps.network, receipt.tokenAddress);
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, pledge.id);
    if (first !== null) return first;
    // Off-ramp sessions lock it as well, before they begin: of the two, one comes first.
    requireActive({ ...(await lockById(tx, receipts, receipt.id)), tokenAddress: receipt.tokenAddress });
    await requireUnpledged({ db: tx }, receipt);
    await requireNotCashedOut(tx, receipt);
    const values = { ...pledge, receiptId: receipt.id, pledgedAt: TRANSACTION_TIME };
    await tx.insert(receiptPledges).values(values);
    return pledge.id;
  });
}

async function requireNotCashedOut(tx: Tx, receipt: TokenizedReceipt): Promise<void> {
  const taken = (await readTaken({ db: tx }, [receipt.id])).get(receipt.id);
  if (taken === undefined) return;
  const { takenKg, openSessionCount: open } = taken;
  if (open > 0)
    throw conflict(receipt, `${open} off-ramp session(s) of it are open: await or cancel them first`);
  if (remainingOf(receipt.quantityKg, takenKg) === 0n)
    throw conflict(receipt, 'all of it has been cashed out');
}

function conflict({ tokenAddress }: TokenizedReceipt, reason: string): DomainError {
  return new DomainError('CONFLICT', `The receipt at ${tokenAddress} can't be pledged: ${reason}.`, {
    field: 'input.receiptTokenAddress',
  });
}
