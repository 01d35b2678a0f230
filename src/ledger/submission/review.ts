/**
 * An operator's decisions about a submission under review.
 *
 *   NEEDS_REVIEW ──resume──▶ PENDING    check again, and sign again if attempts are proved dead, but never
 *                                       when the network shows the call's effect
 *   NEEDS_REVIEW ──adopt───▶ SUCCEEDED  its outcome is what the network shows
 *   NEEDS_REVIEW ──give up─▶ REFUSED    only when no attempt can still land, and the network shows no effect
 */
import { and, eq, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { findById } from '../../db/findByIds.ts';
import { refusedByDatabase } from '../../db/refusedByDatabase.ts';
import { submissions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { notFound } from '../../lib/notFound.ts';
import { findOpenAttempts, readLastNumber, type Attempt } from './attempts.ts';
import type { FoundOnNetwork } from './effects.ts';
import { effectsFor } from './effects.ts';
import { findOnNetwork, intentOf, settle, type Confirm, type Submission, type Conclusion } from './settle.ts';
import { requireKnownHistory } from './knownHistory.ts';
import { outcomeOfSlot } from './slotOutcome.ts';
import { readHalt } from './halts.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

/** SQLSTATE. */
const UNIQUE_VIOLATION = '23505';
const SUBMISSION = 'input.submissionId';
const DECISION = 'input.decision';
/** Owners read this text. Only operators read who ended the submission, and why (`operator_decisions`). */
const GIVEN_UP = 'an operator ended it after a review';

/**
 * @throws DomainError NOT_FOUND, CONFLICT when it is not under review or must not be signed;
 * NetworkUnavailable
 */
export async function resumeSubmission(
  deps: SubmissionDependencies,
  submissionId: string,
  confirm?: Confirm,
): Promise<void> {
  const submission = await requireUnderReview(deps, submissionId);
  const open = await findOpenAttempts(deps.db, submissionId);
  if (open.length === 0 && submission.signer === 'CUSTODY') await requireSignable(deps, submission);
  const targetId = await deps.db.transaction(async (tx) => {
    await confirm?.(tx);
    return resumeWithin(tx, deps, submission);
  });
  deps.stateSignal.notify(targetId);
  deps.stateSignal.notify(NEW_SUBMISSION);
}

async function requireSignable(deps: SubmissionDependencies, submission: Submission): Promise<void> {
  const halted = await readHalt(deps.db);
  if (halted !== null) {
    throw new DomainError('CONFLICT', `Signing is halted (${halted}): resumeSigning comes first.`);
  }
  const found = await findOnNetwork(deps, intentOf(submission));
  if (found) throw doneAlready(found);
}

/**
 * Resumes within the caller's transaction; the caller notifies. The next step asks the network, then signs.
 * @param submission as it was when that was decided: the decision is not about a later review
 * @returns the submission's target
 * @throws DomainError NOT_FOUND, CONFLICT when it is not under review, or under another one
 */
export async function resumeWithin(
  tx: Tx,
  deps: Pick<SubmissionDependencies, 'effects'>,
  { id, resumptions }: Pick<Submission, 'id' | 'resumptions'>,
): Promise<string> {
  const isSeen = and(eq(submissions.id, id), eq(submissions.resumptions, resumptions));
  const [resumed] = await tx
    .update(submissions)
    .set({
      state: 'PENDING',
      dueAt: sql`now()`,
      fruitlessSteps: 0,
      failedSteps: 0,
      failedSettlements: 0,
      resumptions: resumptions + 1,
      attemptsBeforeResume: await readLastNumber(tx, id),
      reviewCause: null,
      stateReason: null,
      refusalReason: null,
    })
    .where(and(isSeen, eq(submissions.state, 'NEEDS_REVIEW')))
    .returning();
  if (!resumed) {
    await requireUnderReview({ db: tx }, id);
    throw decidedMeanwhile();
  }
  const intent = intentOf(resumed);
  await effectsFor(deps, intent).resumed(tx, intent);
  return resumed.targetId;
}

/**
 * Ends a submission as refused, by an operator's decision. The network is asked once more: an attempt that
 * landed settles the submission as landed. A submission is not given up while an attempt may still land, or
 * if its effect exists otherwise.
 * @throws DomainError NOT_FOUND, CONFLICT; NetworkUnavailable
 */
export async function giveUpSubmission(
  deps: SubmissionDependencies,
  submissionId: string,
  confirm?: Confirm,
): Promise<void> {
  const submission = await requireUnderReview(deps, submissionId);
  const open = await findOpenAttempts(deps.db, submissionId);
  const last = await lastWord(deps, open);
  if (last?.kind === 'succeeded') return settleAsLanded(deps, submission, last, confirm);
  if (submission.signer === 'CUSTODY') await requireKnownHistory(deps);
  const found = await findOnNetwork(deps, intentOf(submission));
  if (found) throw doneAlready(found);
  const refusal = { reason: 'OTHER', message: GIVEN_UP } as const;
  const dead = open.map(({ hash }) => hash);
  await settleByOperator(deps, submission, last ?? { kind: 'givenUp', dead, refusal }, confirm);
}

/**
 * Ends a submission as succeeded with the effect that the network shows, by an operator's decision.
 * @param recordIndex for a retirement: the record that the operator means; by default the one that is found
 * @throws DomainError NOT_FOUND, CONFLICT when no possible outcome is found; NetworkUnavailable
 */
export async function adoptOutcome(
  deps: SubmissionDependencies,
  submissionId: string,
  recordIndex?: number,
  confirm?: Confirm,
): Promise<void> {
  const submission = await requireUnderReview(deps, submissionId);
  const open = await findOpenAttempts(deps.db, submissionId);
  const last = await lastWord(deps, open);
  if (last?.kind === 'succeeded') return settleAsLanded(deps, submission, last, confirm);
  const found = await findOnNetwork(deps, intentOf(submission));
  if (!found?.result) {
    throw new DomainError(
      'CONFLICT',
      found
        ? `${found.evidence}. It is not exactly what the submission asks for, so it can't be its outcome.`
        : 'The network shows nothing that the submission could be: RESUME it, or GIVE_UP.',
      { field: DECISION },
    );
  }
  const { evidence, result, txHash = null } = found;
  if (recordIndex !== undefined && (result.kind !== 'retired' || result.retirementIndex !== recordIndex)) {
    throw new DomainError('CONFLICT', `Record ${recordIndex} can't be its outcome. ${evidence}.`, {
      field: 'input.recordIndex',
    });
  }
  const dead = open.map(({ hash }) => hash);
  const adopted = { kind: 'adopted', dead, evidence, result, txHash } as const;
  await unlessTaken(evidence, settleByOperator(deps, submission, adopted, confirm));
}

/** Settles with the attempt that landed. It is no error if another instance has done so meanwhile. */
async function settleAsLanded(
  deps: SubmissionDependencies,
  submission: Submission,
  landed: Extract<Conclusion, { kind: 'succeeded' }>,
  confirm: Confirm | undefined,
): Promise<void> {
  const evidence = `Transaction ${landed.attemptHash} of the submission landed`;
  await unlessTaken(evidence, settle(deps, submission, landed, confirm));
}

/** An effect on the network belongs to one target: a unique key of the database refuses a second one. */
async function unlessTaken(evidence: string, settling: Promise<unknown>): Promise<void> {
  try {
    await settling;
  } catch (error) {
    if (refusedByDatabase(error)?.code !== UNIQUE_VIOLATION) throw error;
    throw new DomainError('CONFLICT', `It has become the outcome of another submission. ${evidence}.`, {
      field: DECISION,
    });
  }
}

/**
 * @returns the network's outcome of the attempts; null when none landed, or the network lacks the history
 * @throws DomainError CONFLICT when an attempt can still land
 */
async function lastWord(
  deps: SubmissionDependencies,
  open: readonly Attempt[],
): Promise<Extract<Conclusion, { kind: 'succeeded' | 'refused' }> | null> {
  if (open.length === 0) return null;
  const { attempt, outcome } = await outcomeOfSlot(deps.network, open);
  if (outcome.status === 'pending') {
    throw new DomainError(
      'CONFLICT',
      `Transaction ${attempt.hash} can still land, so it can't be decided yet. Resume it, or wait until it expires.`,
      { txHash: attempt.hash },
    );
  }
  const attemptHash = attempt.hash;
  if (outcome.status === 'succeeded') return { kind: 'succeeded', attemptHash, landed: outcome };
  if (outcome.status !== 'refused') return null;
  return { kind: 'refused', attemptHash, refusal: outcome.refusal, ledger: outcome.ledger };
}

async function settleByOperator(
  deps: SubmissionDependencies,
  submission: Submission,
  conclusion: Conclusion,
  confirm: Confirm | undefined,
): Promise<void> {
  if (await settle(deps, submission, conclusion, confirm)) return;
  throw decidedMeanwhile();
}

function decidedMeanwhile(): DomainError {
  return new DomainError('CONFLICT', 'The submission was decided otherwise meanwhile.', {
    field: SUBMISSION,
  });
}

function doneAlready({ evidence, result }: FoundOnNetwork): DomainError {
  const advice = result
    ? 'ADOPT takes it as the outcome of the submission.'
    : 'Clear up first which transaction did that.';
  return new DomainError('CONFLICT', `${evidence}. ${advice}`, { field: DECISION });
}

async function requireUnderReview({ db }: { db: Db | Tx }, submissionId: string): Promise<Submission> {
  const submission = await findById(db, submissions, submissionId);
  if (submission?.state === 'NEEDS_REVIEW') return submission;
  throw notDecidable(submission);
}

export function notDecidable(submission: Submission | null | undefined): DomainError {
  return submission
    ? new DomainError('CONFLICT', `The submission is ${submission.state}, not NEEDS_REVIEW.`, {
        field: SUBMISSION,
        state: submission.state,
      })
    : notFound('submission', SUBMISSION);
}
