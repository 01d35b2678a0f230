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

/**
 * Locks the submission until the transaction ends. @throws DomainError NOT_FOUND, CONFLICT when it is not
 * under review
 */
export async function basisOfReview(tx: Tx, id: string): Promise<string> {
  const [submission] = await tx.select().from(submissions).where(eq(submissions.id, id)).for('update');
  if (submission?.state !== 'NEEDS_REVIEW') throw notDecidable(submission);
  const { reviewCause, stateReason, resumptions } = submission;
  const attempts = await readLastNumber(tx, id);
  return `${reviewCause} after ${attempts} attempts and ${resumptions} resumptions: ${stateReason}`;
}

/** @throws DomainError CONFLICT when signing is not halted */
export async function basisOfHalt(tx: Tx): Promise<string> {
  const halts = await readHalts(tx);
  if (halts.length === 0) throw new DomainError('CONFLICT', 'Signing is not halted.');
  // The decision ends all halts.
  return halts.map(({ because }) => because).join('; ');
}
