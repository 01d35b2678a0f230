/**
 * Reads the state of what a request for approval is about, when approval is asked for and again in the
 * transaction of the effect. An approval covers what the requester saw, so it has no effect when the two
 * differ.
 */
import type { Tx } from '../../db/connection.ts';
import { notFound } from '../../lib/notFound.ts';
import { noManualSession } from '../../ramp/manual/manualProvider.ts';
import { lockManualSession, type ManualSession } from '../../ramp/manual/manualStatuses.ts';
import type { Needs } from '../core/dependencies.ts';
import { basisOfHalt, basisOfReview, lockDecidableSession } from '../operations/reviewVersion.ts';
import { requireManualRamp } from '../operations/setManualSessionStatus.ts';
import { findOffRampSession } from '../warehouse/offRamp/findOffRampSession.ts';
import type { AskedOperation } from './approvalRequests.ts';

interface Basis {
  targetId: string | null;
  basis: string;
  /** The version that a decision has to name; null for other operations. */
  version: string | null;
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
      return { targetId: newId, basis: NEW_TARGET, version: null };
    case 'resolveSubmissionReview': {
      const { submissionId } = asked.input;
      return { targetId: submissionId, ...(await basisOfReview(tx, submissionId)) };
    }
    case 'resolveOffRampSessionReview':
      return basisOfSessionReview(tx, deps, asked.input.offRampSessionId);
    case 'resumeSigning':
      return { targetId: null, ...(await basisOfHalt(tx)) };
    case 'setManualSessionStatus':
      return basisOfManualSession(tx, deps, asked.input.sessionId);
  }
}

async function basisOfSessionReview(tx: Tx, deps: Needs<'ramp'>, id: string): Promise<Basis> {
  if ((await findOffRampSession({ db: tx }, id)) === null)
    throw notFound('off-ramp session', 'input.offRampSessionId');
  const { reviewVersion: version } = await lockDecidableSession(tx, deps, id);
  return { targetId: id, basis: version, version };
}

async function basisOfManualSession(tx: Tx, deps: Needs<'ramp' | 'manualRamp'>, id: string): Promise<Basis> {
  const { reference: targetId, status, number } = await lockPayout(tx, deps, id);
  return { targetId, basis: `${status}, status ${number}`, version: null };
}

/** @throws DomainError CONFLICT when another provider is configured, NOT_FOUND */
export async function lockPayout(
  tx: Tx,
  deps: Needs<'ramp' | 'manualRamp'>,
  id: string,
): Promise<ManualSession> {
  // First: the manual provider does not know the sessions of the configured one.
  requireManualRamp(deps);
  const session = await lockManualSession(tx, id);
  if (!session) throw noManualSession(id);
  return session;
}
