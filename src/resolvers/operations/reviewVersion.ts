/**
 * The version of what an operator decides about, like an ETag: a client reads it with the object, and its
 * decision names it. Without it, a decision would apply to the review that is open when the decision arrives:
 * one to give up, made about a first attempt that is dead, could end a submission whose second attempt lands.
 *
 * A version consists of the object's own row. If it were read after the row, it could be newer than what the
 * client sees, and would then hide the change that it is there to show.
 *
 * The basis of a decision describes what it is about. The text is stored with the decision, which clears the
 * reason from the submission or halt.
 */
import { createHash } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Submission } from '../../ledger/submission/settle.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import type { OffRampSession } from '../warehouse/offRamp/findOffRampSession.ts';
import { isStranded } from './strandedSessions.ts';
import type { Tx } from '../../db/connection.ts';
import { submissions } from '../../db/tables/index.ts';
import { readLastNumber } from '../../ledger/submission/attempts.ts';
import { readHalts } from '../../ledger/submission/halts.ts';
import { notDecidable } from '../../ledger/submission/review.ts';
import { lockOffRampSession, sessionNotUnderReview } from '../warehouse/offRamp/offRampMoves.ts';

/** What a decision about a review names. */
export interface SeenReview {
  reviewVersion: string;
}

/** What the decision to end a halt of signing names (halts.ts). */
export interface SeenHalt {
  signingHaltVersion: string;
}

/**
 * Null unless the submission is under review. Nothing is signed during a review, so attempts change only with
 * the cause or after a resumption.
 */
export function versionOfReview(submission: Submission): string | null {
  const { id, state, resumptions, reviewCause, stateReason } = submission;
  if (state !== 'NEEDS_REVIEW') return null;
  const facts = JSON.stringify([id, resumptions, reviewCause, stateReason]);
  return createHash('sha256').update(facts).digest('base64url').slice(0, 22);
}

/** Null unless the session is under review, or waits for a ramp provider other than the configured one. */
export function versionOfSessionReview(deps: Needs<'ramp'>, session: OffRampSession): string | null {
  return session.state === 'NEEDS_REVIEW' || isStranded(deps, session) ? session.reviewVersion : null;
}

/**
 * Call it under the lock of the object.
 * @param version the present one @throws DomainError CONFLICT
 */
export function requireSeen(seen: SeenReview | SeenHalt, version: string | null): void {
  const [name, value] =
    'reviewVersion' in seen
      ? ['reviewVersion', seen.reviewVersion]
      : ['signingHaltVersion', seen.signingHaltVersion];
  if (value === version) return;
  throw new DomainError(
    'CONFLICT',
    `What is to be decided has changed since this \`${name}\` was read: read it again, then decide.`,
    { field: `input.${name}` },
  );
}

interface DecisionBasis {
  basis: string;
  /** What a decision about it has to name. */
  version: string | null;
  /** The accounts whose halts the decision ends. */
  halted?: readonly string[];
}

/**
 * Locks the submission until the transaction ends. @throws DomainError NOT_FOUND, CONFLICT when it is not
 * under review
 */
export async function basisOfReview(tx: Tx, id: string): Promise<DecisionBasis> {
  const [submission] = await tx.select().from(submissions).where(eq(submissions.id, id)).for('update');
  if (submission?.state !== 'NEEDS_REVIEW') throw notDecidable(submission);
  const { reviewCause, stateReason, resumptions } = submission;
  const attempts = await readLastNumber(tx, id);
  return {
    basis: `${reviewCause} after ${attempts} attempts and ${resumptions} resumptions: ${stateReason}`,
    version: versionOfReview(submission),
  };
}

/**
 * Locks the session until the transaction ends. @throws DomainError CONFLICT when it is neither under review
 * nor stranded
 */
export async function lockDecidableSession(tx: Tx, deps: Needs<'ramp'>, id: string): Promise<OffRampSession> {
  const session = await lockOffRampSession(tx, id);
  if (versionOfSessionReview(deps, session) === null) throw sessionNotUnderReview(session);
  return session;
}

/** @throws DomainError CONFLICT when signing is not halted */
export async function basisOfHalt(tx: Tx): Promise<DecisionBasis> {
  const halts = await readHalts(tx);
  const [first] = halts;
  if (first === undefined) throw new DomainError('CONFLICT', 'Signing is not halted.');
  // The decision ends all halts.
  return {
    basis: halts.map(({ because }) => because).join('; '),
    version: first.version,
    halted: halts.map(({ address }) => address),
  };
}
