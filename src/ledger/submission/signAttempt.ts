/**
 * Signs a call and commits the signed bytes: what is sent afterwards is always something the database knows.
 */
import { eq, max } from 'drizzle-orm';
import { attempts, submissions } from '../../db/schema/index.ts';
import { findOpenAttempt, type Attempt } from './attempts.ts';
import type { Intent } from './effects.ts';
import type { SubmissionDependencies } from './submission.ts';

/**
 * @returns the committed attempt, or the open one that another instance committed meanwhile, or null when
 * the submission is no longer pending.
 * @throws NetworkRefusal when the network's simulation refuses the call; nothing was signed.
 */
export async function signAttempt(deps: SubmissionDependencies, intent: Intent): Promise<Attempt | null> {
  const prepared = await deps.network.prepare(intent.call);
  await deps.checkpoint('attempt-signed');

  const attempt = await deps.db.transaction(async (tx) => {
    const [submission] = await tx
      .select({ state: submissions.state })
      .from(submissions)
      .where(eq(submissions.id, intent.submissionId))
      .for('update');
    if (submission?.state !== 'PENDING') return null;
    const open = await findOpenAttempt(tx, intent.submissionId);
    // Someone was faster: their bytes are the ones to send, ours were never committed and are forgotten.
    if (open) return open;
    const [last] = await tx
      .select({ number: max(attempts.number) })
      .from(attempts)
      .where(eq(attempts.submissionId, intent.submissionId));
    const [committed] = await tx
      .insert(attempts)
      .values({
        ...prepared,
        submissionId: intent.submissionId,
        number: (last?.number ?? 0) + 1,
        state: 'OPEN',
        createdAt: deps.clock.now(),
      })
      .returning();
    return committed ?? null;
  });
  await deps.checkpoint('attempt-committed');
  return attempt;
}
