/**
 * Handles a final outcome that can't be written. When the write fails for a permanent reason (a missing row,
 * a violated rule of the database), endless retries would block the attempt's slot unnoticed, so the
 * submission goes to review.
 */
import { and, eq, inArray, sql } from 'drizzle-orm';
import { isTransient } from '../../db/transientFailures.ts';
import { submissions } from '../../db/tables/index.ts';
import { innermostMessage } from '../../lib/errors.ts';
import { settle, type Submission, type Conclusion } from './settle.ts';
import type { StepStore } from './stepStore.ts';
import type { SubmissionDependencies } from './submission.ts';

/** Failures before a review. Transient ones, such as deadlocks, are not counted; five others are permanent. */
const MAX_FAILURES = 5;

/** @throws what settling throws, until it has failed MAX_FAILURES times */
export async function settleOrReview(
  deps: SubmissionDependencies,
  store: Pick<StepStore, 'settle'>,
  submission: Submission,
  conclusion: Extract<Conclusion, { attemptHash: string | null }>,
): Promise<void> {
  try {
    await store.settle(submission, conclusion);
  } catch (error) {
    if (isTransient(error) || (await countFailure(deps, submission)) < MAX_FAILURES) throw error;
    const reason =
      `The network's word on ${conclusion.attemptHash ?? 'it'} (${conclusion.kind}) could not be written ${MAX_FAILURES} ` +
      `times: ${innermostMessage(error)}`;
    deps.log.error(
      { submissionId: submission.id, err: error },
      'a settlement failed for good: it needs review',
    );
    const { attemptHash } = conclusion;
    await settle(deps, submission, {
      kind: 'needsReview',
      attemptHash,
      cause: 'SETTLEMENT_FAILED',
      reason,
    });
  }
}

async function countFailure({ db }: SubmissionDependencies, { id }: Submission): Promise<number> {
  const [row] = await db
    .update(submissions)
    .set({ failedSettlements: sql`${submissions.failedSettlements} + 1` })
    // A failure after the commit is not counted: the feed filler makes up for it.
    .where(and(eq(submissions.id, id), inArray(submissions.state, ['PENDING', 'NEEDS_REVIEW'])))
    .returning({ failures: submissions.failedSettlements });
  return row?.failures ?? 0;
}
