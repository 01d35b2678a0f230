/**
 * Lists submissions for operators.
 */
import { and, eq, type SQL } from 'drizzle-orm';
import { isAmong, isTrueOf, isWithin } from '../../db/conditions.ts';
import { finderOf } from '../../db/findByIds.ts';
import { rowsByMoment, type KeysetCursor, type PageSource } from '../../db/keyset.ts';
import { submissions } from '../../db/tables/index.ts';
import { notFound } from '../../lib/notFound.ts';
import type { NetworkCallKind } from '../../ledger/network/port.ts';
import type { Submission } from '../../ledger/submission/settle.ts';
import type { Needs } from '../core/dependencies.ts';
import { whereStuck } from './overdueWork.ts';

const oldestFirst = rowsByMoment(submissions, 'createdAt', 'asc');

interface SubmissionFilter {
  states?: readonly Submission['state'][] | null | undefined;
  kinds?: readonly NetworkCallKind[] | null | undefined;
  reviewCauses?: readonly NonNullable<Submission['reviewCause']>[] | null | undefined;
  /** Submissions that should have been decided by now (overdueWork.ts). */
  stuck?: boolean | null | undefined;
  /** When the intents were committed, in Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

export function listSubmissions(
  deps: Needs<'db'>,
  filter: SubmissionFilter,
): PageSource<Submission, KeysetCursor> {
  return oldestFirst(deps.db, matching(filter));
}

function matching({ states, kinds, reviewCauses, stuck, from, until }: SubmissionFilter): SQL | undefined {
  return and(
    isAmong(submissions.state, states),
    isAmong(submissions.kind, kinds),
    isAmong(submissions.reviewCause, reviewCauses),
    // Only submissions under review have a cause, and an index.
    reviewCauses == null ? undefined : eq(submissions.state, 'NEEDS_REVIEW'),
    isTrueOf(whereStuck, stuck),
    isWithin(submissions.createdAt, from, until),
  );
}

export const findSubmission = finderOf(submissions);

/** @throws DomainError NOT_FOUND */
export async function requireSubmission(deps: Needs<'db'>, id: string): Promise<Submission> {
  const submission = await findSubmission(deps, id);
  if (!submission) throw notFound('submission', 'input.submissionId');
  return submission;
}
