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
import {
  askedOf,
  type ApprovalInputs,
  type ApprovalOperation,
  type ApprovalRequest,
} from '../../resolvers/approvals/approvalRequests.ts';

type Run<Input> = (deps: Dependencies, by: string, input: Input, grant: Grant) => Promise<unknown>;

const RUNS: { [Operation in ApprovalOperation]: Run<ApprovalInputs[Operation]> } = {
  createProject,
  createDeposit,
  resolveSubmissionReview,
  resolveOffRampSessionReview,
  resumeSigning,
  setManualSessionStatus,
};

/** @throws the errors of the operation */
export function runApproved(deps: Dependencies, request: ApprovalRequest, grant: Grant): Promise<unknown> {
  const { operation, input } = askedOf(request);
  return RUNS[operation](deps, request.requestedBy, input as never, grant);
}
