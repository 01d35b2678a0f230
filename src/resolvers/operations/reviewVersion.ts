/**
 * The version of what an operator decides about, like an ETag: a client reads it with the object, and its
 * decision names it. Without it, a decision would apply to the review that is open when the decision arrives:
 * one to give up, made about a first attempt that is dead, could end a submission whose second attempt lands.
 *
 * A version consists of the object's own row. If it were read after the row, it could be newer than what the
 * client sees, and would then hide the change that it is there to show.
 */
import { createHash } from 'node:crypto';
import type { Submission } from '../../ledger/submission/settle.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import type { OffRampSession } from '../warehouse/offRamp/findOffRampSession.ts';
import { isStranded } from './strandedSessions.ts';

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
