/**
 * A posting asks for one movement of credits between two accounts of a project. There are six kinds.
 *
 *   issue              issuance → inventory     the mint is final on the network
 *   purchase           inventory → buyer        books only
 *   retirement_hold    buyer → retiring         before the burn is signed
 *   retirement_settle  retiring → retired       the burn landed
 *   retirement_return  retiring → buyer         the network refused the burn, or an operator ended it
 *   credit_transfer    buyer → another buyer    books only
 *
 * Each posting's spread comes last, because V8 in Node 20 takes a microsecond for each member after a spread.
 */
import type { transfers } from '../../db/tables/index.ts';

export type TransferKind = (typeof transfers.kind.enumValues)[number];

/** An account, named by its purpose. Only buyers' accounts exist more than once per project. */
export type AccountRef =
  { kind: 'issuance' | 'inventory' | 'retiring' | 'retired' } | { kind: 'buyer'; buyerId: string };

/** The project that the accounts belong to, by its id or by its token's normalised address. */
type ProjectName = { projectId: string } | { tokenAddress: string };

export type Posting = ProjectName & {
  /** The transfer's id, made by the caller. */
  id: string;
  kind: TransferKind;
  /**
   * The id of the posting's cause: the project, the retirement, or the purchase or credit transfer, which is
   * the transfer itself. Each kind is posted once per cause.
   */
  causeId: string;
  debit: AccountRef;
  credit: AccountRef;
  /** Positive. */
  amountTonnes: bigint;
  /** Only for a credit transfer. */
  memo?: string | null;
};

type Movement = ProjectName & {
  /** The transfer's id. */
  id: string;
  /** Positive. */
  amountTonnes: bigint;
};

/** Issuance → inventory, once per project, when the mint is final. */
export function issuePosting(m: Movement & { projectId: string }): Posting {
  return {
    kind: 'issue',
    causeId: m.projectId,
    debit: { kind: 'issuance' },
    credit: { kind: 'inventory' },
    ...m,
  };
}

/** The purchase is its transfer: a purchase has no row of its own. */
export function purchasePosting(m: Movement & { buyerId: string }): Posting {
  const { buyerId, ...movement } = m;
  return {
    kind: 'purchase',
    causeId: m.id,
    debit: { kind: 'inventory' },
    credit: { kind: 'buyer', buyerId },
    ...movement,
  };
}

/** Buyer → another buyer. Like a purchase, it has no row except its transfer. */
export function creditTransferPosting(
  m: Movement & { fromBuyerId: string; toBuyerId: string; memo: string | null },
): Posting {
  const { fromBuyerId, toBuyerId, ...movement } = m;
  return {
    kind: 'credit_transfer',
    causeId: m.id,
    debit: { kind: 'buyer', buyerId: fromBuyerId },
    credit: { kind: 'buyer', buyerId: toBuyerId },
    ...movement,
  };
}

type RetirementMovement = Movement & { retirementId: string; buyerId: string };

/** Buyer → retiring, before the burn is signed. */
export function holdPosting(m: RetirementMovement): Posting {
  const { retirementId, buyerId, ...movement } = m;
  return {
    kind: 'retirement_hold',
    causeId: retirementId,
    debit: { kind: 'buyer', buyerId },
    credit: { kind: 'retiring' },
    ...movement,
  };
}

/** Retiring → retired, when the burn has landed. */
export function settlePosting(m: Movement & { retirementId: string }): Posting {
  const { retirementId, ...movement } = m;
  return {
    kind: 'retirement_settle',
    causeId: retirementId,
    debit: { kind: 'retiring' },
    credit: { kind: 'retired' },
    ...movement,
  };
}

/** Retiring → buyer, when the burn was refused or is proved dead. */
export function returnPosting(m: RetirementMovement): Posting {
  const { retirementId, buyerId, ...movement } = m;
  return {
    kind: 'retirement_return',
    causeId: retirementId,
    debit: { kind: 'retiring' },
    credit: { kind: 'buyer', buyerId },
    ...movement,
  };
}
