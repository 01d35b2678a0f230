/**
 * resolveReview: an operator decides a submission that no rule decides.
 */
import { DomainError } from '../../lib/errors.ts';
import { adoptOutcome, giveUpSubmission, resumeSubmission } from '../../ledger/submission/review.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import type { Needs } from '../core/dependencies.ts';
import { findSubmission } from './listSubmissions.ts';

const REVIEW_DECISIONS = ['RESUME', 'ADOPT', 'GIVE_UP'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** @throws DomainError NOT_FOUND, CONFLICT; NetworkUnavailable */
export async function resolveReview(
  deps: Needs<'db' | 'submission' | 'log'>,
  operatorId: string,
  input: {
    submissionId: string;
    decision: ReviewDecision;
    recordIndex?: number | null | undefined;
    reason: string;
  },
): Promise<Submission> {
  const { submissionId, decision, reason } = input;
  deps.log.info({ submissionId, decision, operatorId, reason }, 'review resolved');
  if (decision === 'RESUME') await resumeSubmission(deps.submission, submissionId);
  else if (decision === 'ADOPT')
    await adoptOutcome(deps.submission, submissionId, input.recordIndex ?? undefined);
  else await giveUpSubmission(deps.submission, submissionId, `${reason} (${operatorId})`);
  const submission = await findSubmission(deps, submissionId);
  if (!submission) throw new DomainError('NOT_FOUND', `There is no submission ${submissionId}.`);
  return submission;
}
