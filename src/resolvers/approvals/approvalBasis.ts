/**
 * Reads the state of what a request for approval is about, when approval is asked for and again in the
 * transaction of the effect. An approval covers what the requester saw, so it has no effect when the two
 * differ.
 */
import { eq } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { manualRampSessions, offRampProviderStatuses, offRampSessions } from '../../db/tables/index.ts';
import { notFound } from '../../lib/notFound.ts';
import { noManualSession } from '../../ramp/manual/manualProvider.ts';
import type { Needs } from '../core/dependencies.ts';
import { basisOfHalt, basisOfReview } from '../operations/decisionBasis.ts';
import type { SessionReviewInput } from '../operations/resolveOffRampSessionReview.ts';
import { requireManualRamp } from '../operations/setManualSessionStatus.ts';
import { isStranded } from '../operations/strandedSessions.ts';
import {
  findOpenReview,
  lockOffRampSession,
  sessionNotUnderReview,
  requireSeenStatus,
} from '../warehouse/offRamp/offRampMoves.ts';
import type { AskedOperation } from './approvalRequests.ts';

interface Basis {
  targetId: string | null;
  basis: string;
}

/** The basis of a target that does not exist before the approval. */
const NEW_TARGET = 'new';

/**
 * Locks what it reads until the transaction ends, so that nothing else decides it meanwhile.
 * @param newId of the row that the operation creates
 * @throws DomainError NOT_FOUND, CONFLICT when there is nothing to decide
 */
export async function readBasis(
  tx: Tx,
  deps: Needs<'ramp' | 'manualRamp'>,
  asked: AskedOperation,
  newId: string,
): Promise<Basis> {
  switch (asked.operation) {
    case 'createProject':
    case 'createDeposit':
      return { targetId: newId, basis: NEW_TARGET };
    case 'resolveSubmissionReview':
      return {
        targetId: asked.input.submissionId,
        basis: await basisOfReview(tx, asked.input.submissionId),
      };
    case 'resolveOffRampSessionReview':
      return basisOfSessionReview(tx, deps, asked.input);
    case 'resumeSigning':
      return { targetId: null, basis: await basisOfHalt(tx) };
    case 'setManualSessionStatus':
      return basisOfManualSession(tx, deps, asked.input.sessionId);
  }
}

async function basisOfSessionReview(
  tx: Tx,
  deps: Needs<'ramp'>,
  { offRampSessionId: id, seenProviderStatus }: SessionReviewInput,
): Promise<Basis> {
  const [known] = await tx
    .select({ id: offRampSessions.id })
    .from(offRampSessions)
    .where(eq(offRampSessions.id, id));
  if (!known) throw notFound('off-ramp session', 'input.offRampSessionId');
  const session = await lockOffRampSession(tx, id);
  const review = await findOpenReview(tx, id);
  if (!review && !isStranded(deps, session)) {
    throw sessionNotUnderReview(session);
  }
  requireSeenStatus(session, seenProviderStatus);
  // The provider may say something else in between, and then the same again.
  const statuses = await tx.$count(offRampProviderStatuses, eq(offRampProviderStatuses.offRampSessionId, id));
  const place = review ? `review ${review.id}` : `${session.state}, at another provider`;
  return { targetId: id, basis: `${place}, after ${statuses} statuses` };
}

async function basisOfManualSession(tx: Tx, deps: Needs<'ramp' | 'manualRamp'>, id: string): Promise<Basis> {
  requireManualRamp(deps);
  const [session] = await tx
    .select()
    .from(manualRampSessions)
    .where(eq(manualRampSessions.id, id))
    .for('update');
  if (!session) throw noManualSession(id);
  return {
    targetId: session.reference,
    basis: `${session.status} since ${session.changedAt.toISOString()}`,
  };
}
