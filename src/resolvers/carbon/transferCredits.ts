/**
 * transferCredits: moves credits from one buyer to another, in the books only.
 */
import { finderOf, findersOf, requireById } from '../../db/findByIds.ts';
import { creditTransfers } from '../../db/tables/index.ts';
import type { OpenEntry } from '../../identity/auditLog.ts';
import type { RowWriter } from '../../ledger/books/books.ts';
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

type CreditTransferRow = Omit<typeof creditTransfers.$inferInsert, 'projectId' | 'createdAt'>;

/** Writes the transfers' own rows, in the transaction of their postings. */
const CREDIT_TRANSFERS: RowWriter<CreditTransferRow> = {
  async write(tx, rows, { clock }) {
    const createdAt = clock.now();
    await tx.insert(creditTransfers).values(rows.map((row) => ({ ...row, createdAt })));
  },
};

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
  const asked = { ...rest, tokenAddress };
  const request = { callerSubject, operation: 'transferCredits', key: idempotencyKey, input: asked };
  const { fromBuyerId, toBuyerId, amountCO2e: amountTonnes, memo } = input;
  const id = deps.ids.next();
  const sides = { fromBuyerId, toBuyerId };
  const booked = await deps.books.postWith(
    CREDIT_TRANSFERS,
    {
      posting: creditTransferPosting({
        ...sides,
        id: deps.ids.next(),
        tokenAddress,
        creditTransferId: id,
        amountTonnes,
      }),
      key: postingKeyOf(request),
      entry: entry?.row({ outcome: 'OK', targetIds: [id] }),
    },
    { ...sides, id, amountTonnes, memo },
  );
  switch (booked.outcome) {
    case 'POSTED':
      entry?.markWritten();
      return { ...sides, id, projectId: booked.projectId, amountTonnes, memo, createdAt: booked.at };
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
  const sides = { fromBuyerId, toBuyerId };
  return dryRun(deps.db, async (tx) => {
    const id = deps.ids.next();
    const posting = creditTransferPosting({
      ...sides,
      id: deps.ids.next(),
      projectId,
      creditTransferId: id,
      amountTonnes,
    });
    const [result] = await postTransfers(tx, [posting], deps.clock.now());
    if (!result?.ok) throw shortOf(input, result?.available ?? 0n);
    await CREDIT_TRANSFERS.write(tx, [{ ...sides, id, projectId, amountTonnes, memo }], deps);
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
