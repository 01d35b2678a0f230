/**
 * Lists submissions for operators.
 */
import { and, eq } from 'drizzle-orm';
import { isAmong, isTrueOf, isWithin } from '../../db/conditions.ts';
import { finderOf } from '../../db/findByIds.ts';
import { listerOf } from '../../db/keyset.ts';
import { submissions } from '../../db/tables/index.ts';
import { notFound } from '../../lib/notFound.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import type { Needs } from '../core/dependencies.ts';
import { whereStuck } from './overdueWork.ts';

type ReviewCause = NonNullable<Submission['reviewCause']>;

export const listSubmissions = listerOf(
  submissions,
  'createdAt',
  {
    states: isAmong(submissions.state),
    kinds: isAmong(submissions.kind),
    // Only submissions under review have a cause, and an index.
    reviewCauses: (causes: readonly ReviewCause[]) =>
      and(isAmong(submissions.reviewCause)(causes), eq(submissions.state, 'NEEDS_REVIEW')),
    /** Submissions that should have been decided by now. */
    stuck: isTrueOf(whereStuck),
    ...isWithin(submissions.createdAt),
  },
  { direction: 'asc' },
);

export const findSubmission = finderOf(submissions);

/** @throws DomainError NOT_FOUND */
export async function requireSubmission(deps: Needs<'db'>, id: string): Promise<Submission> {
  const submission = await findSubmission(deps, id);
  if (!submission) throw notFound('submission', 'input.submissionId');
  return submission;
}
