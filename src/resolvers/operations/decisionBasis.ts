/**
 * Describes what a decision is about. The text is stored with the decision, which clears the reason from the
 * submission or halt.
 */
import { eq } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { submissions } from '../../db/tables/index.ts';
import { readLastNumber } from '../../ledger/submission/attempts.ts';
import { readHalts } from '../../ledger/submission/halts.ts';
import { notDecidable } from '../../ledger/submission/review.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import type { OffRampSession } from '../warehouse/offRamp/findOffRampSession.ts';
import { lockOffRampSession, sessionNotUnderReview } from '../warehouse/offRamp/offRampMoves.ts';
import { versionOfReview, versionOfSessionReview } from './reviewVersion.ts';

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
