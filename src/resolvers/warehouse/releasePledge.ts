/**
 * releasePledge: the lender, or an operator on the lender's instruction, releases the pledge of a receipt.
 * The farmer can't, because the pledge binds the farmer.
 */
import { DATABASE_NOW } from '../../db/databaseTime.ts';
import { lockById, requireById, updateById } from '../../db/findByIds.ts';
import { receiptPledges, receipts } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import { findFirstUse, reserveKey } from '../core/idempotency.ts';
import { findOpenPledges, type ReceiptPledge } from './findPledge.ts';
import {
  findReceiptByToken,
  receiptNotFound,
  type ReceiptCaller,
  type TokenizedReceipt,
} from './findReceipt.ts';

interface ReleasePledgeInput {
  receiptTokenAddress: string;
  /** The pledge's loan reference: a late request must not release the next pledge. */
  loanReference: string;
  idempotencyKey: string;
}

/**
 * @param caller an operator, or the lender whom the pledge names.
 * @returns the pledge, released.
 * @throws DomainError NOT_FOUND (no such receipt, or none that is pledged to the lender), CONFLICT (not
 *   pledged, or pledged under another loanReference), IDEMPOTENCY_CONFLICT
 */
export async function releasePledge(
  deps: Needs<'db' | 'network' | 'stateSignal'>,
  caller: ReceiptCaller,
  { receiptTokenAddress, loanReference, idempotencyKey: key }: ReleasePledgeInput,
): Promise<ReceiptPledge> {
  const receipt = await findReceiptByToken(deps, receiptTokenAddress);
  if (!receipt) throw receiptNotFound(receiptTokenAddress);
  const { id: receiptId, tokenAddress } = receipt;
  const input = { receiptTokenAddress: tokenAddress, loanReference };
  const request = { callerSubject: caller.subject, operation: 'releasePledge', key, input };
  const pledge = await deps.db.transaction(async (tx) => {
    // A second request waits here for the first one.
    await lockById(tx, receipts, receiptId);
    // Before the checks: what the first use has released is free for a second one.
    const first = await findFirstUse(tx, request);
    if (first !== null) return requireById(tx, receiptPledges, first);
    const { id } = requireReleasable(
      caller,
      receipt,
      loanReference,
      (await findOpenPledges({ db: tx }, [receiptId])).get(receiptId),
    );
    await reserveKey(tx, request, id);
    const released = { releasedAt: DATABASE_NOW, releasedBy: caller.subject };
    return updateById(tx, receiptPledges, id, released);
  });
  deps.stateSignal.notify(receipt.id);
  return pledge;
}

function requireReleasable(
  caller: ReceiptCaller,
  { tokenAddress }: TokenizedReceipt,
  loanReference: string,
  openPledge: ReceiptPledge | undefined,
): ReceiptPledge {
  if (!caller.isOperator && openPledge?.lenderId !== caller.subject) throw receiptNotFound(tokenAddress);
  if (openPledge?.loanReference === loanReference) return openPledge;
  const state =
    openPledge === undefined
      ? 'not pledged'
      : `pledged under the loan reference "${openPledge.loanReference}", not under "${loanReference}"`;
  throw new DomainError('CONFLICT', `The receipt at ${tokenAddress} is ${state}.`, {
    field: openPledge === undefined ? 'input.receiptTokenAddress' : 'input.loanReference',
  });
}
