/**
 * resolveSubmissionReview: an operator decides a submission that no rule decides.
 */
import { adoptOutcome, giveUpSubmission, resumeSubmission } from '../../ledger/submission/review.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { basisOfReview } from './decisionBasis.ts';
import { requireSubmission } from './listSubmissions.ts';
import { recordDecision } from './operatorDecisions.ts';
import { requireSeen, type SeenReview } from './reviewVersion.ts';

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
  const confirm = recordDecision(deps, record, grant, input);
  // It is compared again with the effect. Before that, the network is asked, whose answer would refuse the
  // decision for another reason.
  const { version } = await deps.db.transaction((tx) => basisOfReview(tx, submissionId));
  requireSeen(input, version);
  if (decision === 'RESUME') await resumeSubmission(deps.submission, submissionId, confirm);
  else if (decision === 'ADOPT')
    await adoptOutcome(deps.submission, submissionId, input.recordIndex ?? undefined, confirm);
  else await giveUpSubmission(deps.submission, submissionId, confirm);
  deps.log.info({ submissionId, decision, caller: operatorId, reason }, 'review resolved');
  return requireSubmission(deps, submissionId);
}
