/**
 * resolveReview: an operator decides what no rule could.
 */
import { DomainError } from '../errors.ts';
import { giveUpSubmission, resumeSubmission } from '../ledger/submission/review.ts';
import type { Submission } from '../ledger/submission/settle.ts';
import type { Dependencies } from './dependencies.ts';
import { findSubmission } from './listSubmissions.ts';

export const REVIEW_DECISIONS = ['RESUME', 'GIVE_UP'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** @throws DomainError NOT_FOUND, CONFLICT; NetworkUnavailable */
export async function resolveReview(
  deps: Dependencies,
  operatorId: string,
  input: { submissionId: string; decision: ReviewDecision; reason: string },
): Promise<Submission> {
  const { submissionId, decision, reason } = input;
  deps.log.info({ submissionId, decision, operatorId, reason }, 'review resolved');
  if (decision === 'RESUME') await resumeSubmission(deps.submission, submissionId);
  else await giveUpSubmission(deps.submission, submissionId, `${reason} (${operatorId})`);
  const submission = await findSubmission(deps, submissionId);
  if (!submission) throw new DomainError('NOT_FOUND', `There is no submission ${submissionId}.`);
  return submission;
}
