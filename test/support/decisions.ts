/**
 * Decides about submissions under review and halts as an operator who has just read them.
 */
import type { Dependencies } from '../../src/resolvers/core/dependencies.ts';
import { findSubmission } from '../../src/resolvers/operations/listSubmissions.ts';
import { readOpenWork } from '../../src/resolvers/operations/overdueWork.ts';
import {
  resolveSubmissionReview,
  type ResolveSubmissionReviewInput,
} from '../../src/resolvers/operations/resolveSubmissionReview.ts';
import { resumeSigning } from '../../src/resolvers/operations/resumeSigning.ts';
import { versionOfReview } from '../../src/resolvers/operations/reviewVersion.ts';

type Needed = Pick<Dependencies, 'db' | 'submission' | 'log' | 'ids' | 'clock'>;

export async function decideSubmission(
  deps: Needed,
  operatorId: string,
  input: Omit<ResolveSubmissionReviewInput, 'reviewVersion'>,
) {
  const reviewVersion = await readReviewVersion(deps, input.submissionId);
  return resolveSubmissionReview(deps, operatorId, { ...input, reviewVersion });
}

/** Empty when the submission is not under review. */
export async function readReviewVersion(deps: Pick<Needed, 'db'>, submissionId: string): Promise<string> {
  const submission = await findSubmission(deps, submissionId);
  return (submission && versionOfReview(submission)) ?? '';
}

/** Ends a halt of signing as an operator who has just read why. */
export async function decideHalt(
  deps: Pick<Dependencies, 'submission' | 'log' | 'ids' | 'clock'>,
  operatorId: string,
  { reason }: { reason: string },
) {
  const signingHaltVersion = (await readOpenWork(deps.submission.db)).haltVersion ?? '';
  return resumeSigning(deps, operatorId, { signingHaltVersion, reason });
}
