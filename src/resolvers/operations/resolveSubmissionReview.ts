/**
 * resolveSubmissionReview: an operator decides a submission that no rule decides.
 */
import { adoptOutcome, giveUpSubmission, resumeSubmission } from '../../ledger/submission/review.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { requireSubmission } from './listSubmissions.ts';
import { prepareDecision } from './operatorDecisions.ts';
import type { SeenReview } from './reviewVersion.ts';

export type SubmissionReviewDecision = 'RESUME' | 'ADOPT' | 'GIVE_UP';

export interface ResolveSubmissionReviewInput extends SeenReview {
  submissionId: string;
  decision: SubmissionReviewDecision;
  recordIndex?: number | null | undefined;
  reason: string;
}

/** @throws DomainError NOT_FOUND, CONFLICT (also when the review has changed); NetworkUnavailable */
export async function resolveSubmissionReview(
  deps: Needs<'db' | 'submission' | 'log' | 'ids' | 'clock'>,
  operatorId: string,
  input: ResolveSubmissionReviewInput,
  grant?: Grant,
): Promise<Submission> {
  const { submissionId, decision, reason } = input;
  const record = { submissionId, decision, decidedBy: operatorId, reason };
  const confirm = await prepareDecision(deps, record, grant, input);
  if (decision === 'RESUME') await resumeSubmission(deps.submission, submissionId, confirm);
  else if (decision === 'ADOPT')
    await adoptOutcome(deps.submission, submissionId, input.recordIndex ?? undefined, confirm);
  else await giveUpSubmission(deps.submission, submissionId, confirm);
  deps.log.info({ submissionId, decision, caller: operatorId, reason }, 'review resolved');
  return requireSubmission(deps, submissionId);
}
