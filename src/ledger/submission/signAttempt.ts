/**
 * Signs a call and commits the signed bytes: what is sent afterwards is always something the database knows.
 */
import { eq, max } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { attempts, submissions } from '../../db/schema/index.ts';
import type { PreparedTransaction } from '../network/port.ts';
import { findOpenAttempts, type Attempt } from './attempts.ts';
import type { Intent } from './effects.ts';
import { takeSlot } from './slots.ts';
import type { SubmissionDependencies } from './submission.ts';

/**
 * @returns the open attempts of the submission: the one committed here, or those that another instance committed
 * meanwhile; none when the submission is no longer pending; null when no slot is free.
 * @throws NetworkRefusal when the network's simulation refuses the call; SequenceAhead; nothing was signed.
 */
export async function signAttempt(deps: SubmissionDependencies, intent: Intent): Promise<Attempt[] | null> {
  const { signingOrder } = deps.network;
  const [draft, nextSequences] = await Promise.all([
    deps.network.draft(intent.call),
    deps.network.nextSequences(),
  ]);
  const signed = await deps.db.transaction(async (tx) => {
    const open = await lockPending(tx, intent.submissionId);
    // Someone was faster: their bytes are the ones to send.
    if (open === null || open.length > 0) return open ?? [];
    const slot = signingOrder && (await takeSlot(tx, signingOrder, nextSequences));
    if (signingOrder && !slot) return null;
    const prepared = await draft.sign(slot);
    await deps.checkpoint('attempt-signed');
    return [await insertAttempt(tx, deps, intent.submissionId, prepared, null)];
  });
  await deps.checkpoint('attempt-committed');
  return signed;
}

/**
 * Signs the call once more for the slot that it has, at a higher fee, when the network says that it is stuck.
 * @returns the new attempt, or null when there is nothing to outbid.
 */
export async function outbidAttempt(deps: SubmissionDependencies, latest: Attempt): Promise<Attempt | null> {
  if (!deps.network.signingOrder?.accounts.includes(latest.source)) return null;
  const prepared = await deps.network.outbid(latest);
  if (prepared === null) return null;
  return deps.db.transaction(async (tx) => {
    const open = await lockPending(tx, latest.submissionId);
    if (open?.at(-1)?.hash !== latest.hash) return null;
    return insertAttempt(tx, deps, latest.submissionId, prepared, latest.hash);
  });
}

/** The submission's open attempts, under its row lock; null when it is no longer pending. */
async function lockPending(tx: Tx, submissionId: string): Promise<Attempt[] | null> {
  const [submission] = await tx
    .select({ state: submissions.state })
    .from(submissions)
    .where(eq(submissions.id, submissionId))
    .for('update');
  return submission?.state === 'PENDING' ? findOpenAttempts(tx, submissionId) : null;
}

/** The caller holds the submission's row lock. */
export async function insertAttempt(
  tx: Tx,
  deps: Pick<SubmissionDependencies, 'clock'>,
  submissionId: string,
  prepared: PreparedTransaction,
  outbids: string | null,
): Promise<Attempt> {
  const [last] = await tx
    .select({ number: max(attempts.number) })
    .from(attempts)
    .where(eq(attempts.submissionId, submissionId));
  const number = (last?.number ?? 0) + 1;
  const createdAt = deps.clock.now();
  const [inserted] = await tx
    .insert(attempts)
    .values({ ...prepared, submissionId, number, outbids, state: 'OPEN', createdAt })
    .returning();
  if (!inserted) throw new Error(`attempt ${prepared.hash} was not stored`);
  return inserted;
}
