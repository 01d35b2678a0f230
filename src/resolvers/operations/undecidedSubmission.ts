/**
 * Finds an off-ramp session's undecided submission. Until its outcome, nothing else of the session is
 * decided.
 */
import { and, eq, exists, inArray, isNull, or } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { offRampSessions, submissions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';

/**
 * A submission of this session that is under review, or that custody has under way. A holder's submission may
 * stay pending indefinitely, and a late deposit of a holder is refunded; once the deposit was seen, nothing
 * waits for the submission.
 */
export async function findUndecided(
  tx: Tx,
  offRampSessionId: string,
  lock?: 'lock',
): Promise<Undecided | null> {
  const { id, state, signer, targetId, resumptions } = submissions;
  const isUndecided = or(
    and(inArray(state, ['NEEDS_REVIEW', 'PENDING']), eq(signer, 'CUSTODY')),
    and(eq(state, 'NEEDS_REVIEW'), isUndeposited(tx, offRampSessionId)),
  );
  const found = tx
    .select({ id, state, resumptions })
    .from(submissions)
    .where(and(eq(targetId, offRampSessionId), isUndecided))
    .orderBy(id);
  const [undecided] = await (lock ? found.for('update') : found);
  return undecided ?? null;
}

function isUndeposited(tx: Tx, offRampSessionId: string) {
  const { id, depositedAt } = offRampSessions;
  return exists(
    tx
      .select({ id })
      .from(offRampSessions)
      .where(and(eq(id, offRampSessionId), isNull(depositedAt))),
  );
}

type Undecided = Pick<typeof submissions.$inferSelect, 'id' | 'state' | 'resumptions'>;

export function underWay(submissionId: string): DomainError {
  return new DomainError(
    'CONFLICT',
    'A submission of this session is under way: decide the session once it has an outcome.',
    { submissionId },
  );
}

export function undecidedFirst(submissionId: string): DomainError {
  return new DomainError(
    'CONFLICT',
    'A submission of this session may still land. RETRY, or give it up with resolveSubmissionReview first.',
    { submissionId },
  );
}
