/**
 * What an operator may do with a submission that no rule could decide.
 *
 *   NEEDS_REVIEW ──resume──▶ PENDING   look again, and sign again if what was signed is proved dead: always safe
 *   NEEDS_REVIEW ──give up─▶ REFUSED   only when nothing that was signed can still land, as far as can be known
 */
import { and, eq, sql } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { submissions } from '../../db/schema/index.ts';
import { DomainError } from '../../errors.ts';
import { countSigned, findOpenAttempts } from './attempts.ts';
import { effectsFor, intentOf, settle } from './settle.ts';
import { outcomeOfSlot } from './slotOutcome.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

/** @throws DomainError NOT_FOUND, CONFLICT when the submission is not under review. */
export async function resumeSubmission(deps: SubmissionDependencies, submissionId: string): Promise<void> {
  const subjectId = await deps.db.transaction((tx) => resumeWithin(tx, deps, submissionId));
  deps.subjects.ring(subjectId);
  deps.subjects.ring(NEW_SUBMISSION);
}

/**
 * The same as part of a larger decision; the caller rings.
 * @returns the submission's subject.
 * @throws like resumeSubmission
 */
export async function resumeWithin(
  tx: Tx,
  deps: SubmissionDependencies,
  submissionId: string,
): Promise<string> {
  const [resumed] = await tx
    .update(submissions)
    .set({
      state: 'PENDING',
      dueAt: sql`now()`,
      fruitlessSteps: 0,
      attemptsBeforeResume: await countSigned(tx, submissionId),
      message: null,
      refusalReason: null,
    })
    .where(and(eq(submissions.id, submissionId), eq(submissions.state, 'NEEDS_REVIEW')))
    .returning();
  if (!resumed) throw await notUnderReview(deps, submissionId);
  await effectsFor(deps, resumed.kind).resumed(tx, intentOf(resumed));
  return resumed.subjectId;
}

/**
 * Ends a submission as refused, on an operator's word. The network is asked once more: what landed after all
 * settles as landed, and what may still land is not given up.
 * @throws DomainError NOT_FOUND, CONFLICT; NetworkUnavailable
 */
export async function giveUpSubmission(
  deps: SubmissionDependencies,
  submissionId: string,
  reason: string,
): Promise<void> {
  const [submission] = await deps.db.select().from(submissions).where(eq(submissions.id, submissionId));
  if (submission?.state !== 'NEEDS_REVIEW') throw await notUnderReview(deps, submissionId);

  const message = `given up by an operator: ${reason}`;
  const open = await findOpenAttempts(deps.db, submissionId);
  if (open.length > 0) {
    const { attempt, outcome } = await outcomeOfSlot(deps.network, open);
    const attemptHash = attempt.hash;
    if (outcome.status === 'succeeded') {
      await settle(deps, submissionId, { kind: 'succeeded', attemptHash, landed: outcome });
      return;
    }
    if (outcome.status === 'refused') {
      await settle(deps, submissionId, { kind: 'refused', attemptHash, refusal: outcome.refusal });
      return;
    }
    if (outcome.status === 'pending') {
      throw new DomainError(
        'CONFLICT',
        `Transaction ${attemptHash} can still land, so it can't be given up yet. Resume it, or wait until it expires.`,
        { txHash: attemptHash },
      );
    }
  }
  const reasonAgainst = await effectsFor(deps, submission.kind).reasonAgainstGivingUp?.(intentOf(submission));
  if (reasonAgainst) throw new DomainError('CONFLICT', reasonAgainst);
  const isGivenUp = await settle(deps, submissionId, {
    kind: 'givenUp',
    attemptHash: null,
    buried: open.map(({ hash }) => hash),
    refusal: { reason: 'OTHER', message },
  });
  if (!isGivenUp)
    throw new DomainError('CONFLICT', `Submission ${submissionId} was decided otherwise meanwhile.`);
}

async function notUnderReview(deps: SubmissionDependencies, submissionId: string): Promise<DomainError> {
  const [submission] = await deps.db.select().from(submissions).where(eq(submissions.id, submissionId));
  return submission
    ? new DomainError('CONFLICT', `Submission ${submissionId} is ${submission.state}, not NEEDS_REVIEW.`)
    : new DomainError('NOT_FOUND', `There is no submission ${submissionId}.`);
}
