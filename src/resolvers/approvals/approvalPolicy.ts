/**
 * Which operations need a second person's approval: the operator's choice.
 */
import type { AskedOperation } from './approvalRequests.ts';

export interface ApprovalPolicy {
  isRequired: boolean;
  /** Projects of at most this many whole tonnes need no approval. */
  aboveTonnes: bigint;
  /** Deposits of at most this many whole kilograms need no approval. */
  aboveKilograms: bigint;
  /** How long a request awaits approval. */
  lifetimeSeconds: number;
}

/** For development: each operator acts alone. */
export const NO_APPROVALS: ApprovalPolicy = {
  isRequired: false,
  aboveTonnes: 0n,
  aboveKilograms: 0n,
  lifetimeSeconds: 259_200,
};

export function needsApproval(policy: ApprovalPolicy, asked: AskedOperation): boolean {
  if (!policy.isRequired) return false;
  switch (asked.operation) {
    case 'createProject':
      return asked.input.quantityCO2e > policy.aboveTonnes;
    case 'createDeposit':
      return asked.input.quantityKg > policy.aboveKilograms;
    case 'setManualSessionStatus':
      // A status that ends the payout releases the tokens; a payout that is pending again can be cancelled,
      // which refunds them.
      return asked.input.status !== 'processing';
    case 'resolveSubmissionReview':
    case 'resolveOffRampSessionReview':
    case 'resumeSigning':
      return true;
  }
}
