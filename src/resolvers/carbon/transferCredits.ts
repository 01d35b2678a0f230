/**
 * transferCredits: moves credits from one buyer to another, in the books only. The transfer in the books is the
 * credit transfer.
 */
import { finderOf, findersOf, requireById } from '../../db/findByIds.ts';
import { creditTransfers } from '../../db/tables/index.ts';
import type { OpenEntry } from '../../identity/auditLog.ts';
import { creditTransferPosting } from '../../ledger/books/postings.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import { idempotencyConflict, postingKeyOf } from '../core/idempotency.ts';
import { dryRun } from '../core/dryRun.ts';
import { readDryRun, type DryRun } from './dryRun.ts';
import { requireProjectByToken, requireTokenAddress, unknownToken } from './findProject.ts';
import { insufficientBalance } from './insufficientBalance.ts';

interface TransferCreditsInput {
  fromBuyerId: string;
  toBuyerId: string;
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  memo: string | null;
  idempotencyKey: string;
}

export type CreditTransfer = typeof creditTransfers.$inferSelect;

export const findCreditTransfer = finderOf(creditTransfers);
export const findCreditTransfers = findersOf(creditTransfers);

type TransferNeeds = Needs<'db' | 'network' | 'ids'>;

/**
 * @param entry of the audit log, committed with the transfer.
 * @throws DomainError BAD_USER_INPUT, NOT_FOUND, INSUFFICIENT_BALANCE, IDEMPOTENCY_CONFLICT, OVERLOADED
 */
export async function transferCredits(
  deps: Needs<keyof TransferNeeds | 'books'>,
  callerSubject: string,
  input: TransferCreditsInput,
  entry?: OpenEntry,
): Promise<CreditTransfer> {
  requireTwoBuyers(input);
  const tokenAddress = requireTokenAddress(deps, input.tokenAddress);
  const { idempotencyKey, ...rest } = input;
  // A reconciliation hashes the booked transfer, and compares it with the hash of this input.
  const asked = { ...rest, tokenAddress };
  const request = { callerSubject, operation: 'transferCredits', key: idempotencyKey, input: asked };
  const { fromBuyerId, toBuyerId, amountCO2e: amountTonnes, memo } = input;
  const id = deps.ids.next();
  const booked = await deps.books.post({
    posting: creditTransferPosting({ id, tokenAddress, amountTonnes, fromBuyerId, toBuyerId, memo }),
    key: postingKeyOf(request),
    entry: entry?.row({ outcome: 'OK', targetIds: [id] }),
  });
  switch (booked.outcome) {
    case 'POSTED': {
      entry?.markWritten();
      const { projectId, at: createdAt } = booked;
      return { id, projectId, fromBuyerId, toBuyerId, amountTonnes, memo, createdAt };
    }
    case 'REPLAYED':
      if (booked.targetId === id) entry?.markWritten();
      return requireById(deps.db, creditTransfers, booked.targetId);
    case 'CONFLICT':
      throw idempotencyConflict(request);
    case 'SHORT':
      throw shortOf(input, booked.available);
    case 'PRICE_CHANGED':
      throw new Error(`credit transfer ${id} was compared with a price`);
    case 'NO_PROJECT':
      throw unknownToken(input.tokenAddress);
  }
}

/**
 * Makes every check of the transfer, and changes nothing. @throws the same errors as `transferCredits`,
 * except IDEMPOTENCY_CONFLICT
 */
export async function dryRunTransfer(
  deps: Needs<keyof TransferNeeds | 'clock'>,
  input: TransferCreditsInput,
): Promise<DryRun> {
  requireTwoBuyers(input);
  const { id: projectId } = await requireProjectByToken(deps, input.tokenAddress);
  const { fromBuyerId, toBuyerId, amountCO2e: amountTonnes, memo } = input;
  return dryRun(deps.db, async (tx) => {
    const id = deps.ids.next();
    const posting = creditTransferPosting({ id, projectId, amountTonnes, fromBuyerId, toBuyerId, memo });
    const [result] = await postTransfers(tx, [posting], deps.clock.now());
    if (!result?.ok) throw shortOf(input, result?.available ?? 0n);
    return readDryRun(tx, { projectId, buyerId: fromBuyerId, tonnes: amountTonnes });
  });
}

function requireTwoBuyers({ fromBuyerId, toBuyerId }: TransferCreditsInput): void {
  if (fromBuyerId !== toBuyerId) return;
  throw new DomainError('BAD_USER_INPUT', `Buyer ${toBuyerId} can't transfer credits to itself.`, {
    field: 'input.toBuyerId',
  });
}

function shortOf(
  { fromBuyerId, tokenAddress, amountCO2e }: TransferCreditsInput,
  available: bigint,
): DomainError {
  const holder = `buyer ${fromBuyerId}`;
  return insufficientBalance({ verb: 'transferred', holder, tokenAddress, requested: amountCO2e, available });
}
