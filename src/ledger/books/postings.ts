/**
 * The five movements that the books know, each as a posting.
 *
 *   issue              issuance → inventory     the mint is final on the network
 *   purchase           inventory → buyer        books only
 *   retirement_hold    buyer → retiring         before the burn is sent
 *   retirement_settle  retiring → retired       the burn landed
 *   retirement_return  retiring → buyer         the network refused the burn, or it was proved dead
 */
import type { Posting } from './postTransfers.ts';

interface Movement {
  id: string;
  projectId: string;
  amount: bigint;
}

export function issuePosting(m: Movement): Posting {
  return {
    ...m,
    kind: 'issue',
    referenceId: m.projectId,
    debit: { kind: 'issuance' },
    credit: { kind: 'inventory' },
  };
}

export function purchasePosting(m: Movement & { purchaseId: string; buyerId: string }): Posting {
  const { purchaseId, buyerId, ...movement } = m;
  return {
    ...movement,
    kind: 'purchase',
    referenceId: purchaseId,
    debit: { kind: 'inventory' },
    credit: { kind: 'buyer', buyerId },
  };
}

type RetirementMovement = Movement & { retirementId: string; buyerId: string };

export function holdPosting(m: RetirementMovement): Posting {
  const { retirementId, buyerId, ...movement } = m;
  return {
    ...movement,
    kind: 'retirement_hold',
    referenceId: retirementId,
    debit: { kind: 'buyer', buyerId },
    credit: { kind: 'retiring' },
  };
}

export function settlePosting(m: Movement & { retirementId: string }): Posting {
  const { retirementId, ...movement } = m;
  return {
    ...movement,
    kind: 'retirement_settle',
    referenceId: retirementId,
    debit: { kind: 'retiring' },
    credit: { kind: 'retired' },
  };
}

export function returnPosting(m: RetirementMovement): Posting {
  const { retirementId, buyerId, ...movement } = m;
  return {
    ...movement,
    kind: 'retirement_return',
    referenceId: retirementId,
    debit: { kind: 'retiring' },
    credit: { kind: 'buyer', buyerId },
  };
}
