/**
 * Runs an approved operation as its requester asked for it. Only this function reaches every operation that
 * can need approval, so it takes the dependencies of all of them, where a use case takes a few.
 */
import { createProject } from '../../resolvers/carbon/createProject.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import type { Grant } from '../../resolvers/core/grant.ts';
import { resolveSubmissionReview } from '../../resolvers/operations/resolveSubmissionReview.ts';
import { resolveOffRampSessionReview } from '../../resolvers/operations/resolveOffRampSessionReview.ts';
import { resumeSigning } from '../../resolvers/operations/resumeSigning.ts';
import { setManualSessionStatus } from '../../resolvers/operations/setManualSessionStatus.ts';
import { createDeposit } from '../../resolvers/warehouse/createDeposit.ts';
import { askedOf, type ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';

/** @throws the errors of the operation */
export async function runApproved(
  deps: Dependencies,
  request: ApprovalRequest,
  grant: Grant,
): Promise<unknown> {
  const asked = askedOf(request);
  const by = request.requestedBy;
  switch (asked.operation) {
    case 'createProject':
      return createProject(deps, by, asked.input, grant);
    case 'createDeposit':
      return createDeposit(deps, by, asked.input, grant);
    case 'resolveSubmissionReview':
      return resolveSubmissionReview(deps, by, asked.input, grant);
    case 'resolveOffRampSessionReview':
      return resolveOffRampSessionReview(deps, by, asked.input, grant);
    case 'resumeSigning':
      return resumeSigning(deps, by, asked.input, grant);
    case 'setManualSessionStatus':
      return setManualSessionStatus(deps, by, asked.input, grant);
  }
}
