/**
 * Settling: the network's final word, the attempt's verdict, the submission's state and what it all means to
 * the platform, in one transaction under the submission's row lock. Whoever comes second finds it settled.
 */
import { eq } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { submissions } from '../../db/schema/index.ts';
import type { Refusal } from '../network/port.ts';
import { decodeCall } from './callCodec.ts';
import type { Effects, Intent, Landed } from './effects.ts';
import { buryAttempts, decideAttempt, findOpenAttempts } from './attempts.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

export type Submission = typeof submissions.$inferSelect;

/** The last word about a submission; `attemptHash` is the attempt it was said of, if one was signed. */
export type Verdict =
  | { kind: 'succeeded'; attemptHash: string; landed: Omit<Landed, 'at' | 'txHash'> }
  | { kind: 'refused'; attemptHash: string | null; refusal: Refusal }
  /** By an operator, of a submission under review; `buried` is what was open, and can't be told to land any more. */
  | { kind: 'givenUp'; attemptHash: null; buried: readonly string[]; refusal: Refusal }
  | { kind: 'needsReview'; attemptHash: string | null; reason: string };

export function intentOf(submission: Submission): Intent {
  return {
    submissionId: submission.id,
    subjectId: submission.subjectId,
    signer: submission.signer,
    call: decodeCall(submission.call),
  };
}

export function effectsFor(deps: Pick<SubmissionDependencies, 'effects'>, kind: string): Effects {
  const effects = deps.effects[kind as keyof typeof deps.effects];
  if (!effects) throw new Error(`no use case handles submissions of kind ${kind}`);
  return effects;
}

/** @returns whether this call settled it; false when it was settled before. */
export async function settle(
  deps: SubmissionDependencies,
  submissionId: string,
  verdict: Verdict,
): Promise<boolean> {
  const at = deps.clock.now();
  const settled = await deps.db.transaction(async (tx) => {
    const [submission] = await tx
      .select()
      .from(submissions)
      .where(eq(submissions.id, submissionId))
      .for('update');
    if (!submission || submission.state === 'SUCCEEDED' || submission.state === 'REFUSED') return null;
    if (await isOutdated(tx, submission, verdict)) return null;
    await applyVerdict(tx, deps, submission, verdict, at);
    await deps.checkpoint('settlement-uncommitted');
    return submission;
  });
  if (!settled) return false;
  await deps.checkpoint('settlement-committed');
  deps.subjects.ring(settled.subjectId);
  // What succeeded may have enqueued its successor.
  deps.subjects.ring(NEW_SUBMISSION);
  if (verdict.kind === 'succeeded') {
    const landed = { ...verdict.landed, txHash: verdict.attemptHash, at };
    await effectsFor(deps, settled.kind).afterSucceeded?.(intentOf(settled), landed);
  }
  return true;
}

/**
 * What was found says nothing about bytes that another instance has signed since: those may still land, so returning
 * what is reserved would give it away twice, and the network, not an operator, will decide them. What the network
 * said of bytes that landed stands whatever else is open.
 */
async function isOutdated(tx: Tx, submission: Submission, verdict: Verdict): Promise<boolean> {
  const { attemptHash, kind } = verdict;
  if (attemptHash !== null && kind !== 'needsReview') return false;
  const open = (await findOpenAttempts(tx, submission.id)).map(({ hash }) => hash);
  if (kind === 'givenUp') {
    return submission.state !== 'NEEDS_REVIEW' || open.some((hash) => !verdict.buried.includes(hash));
  }
  return attemptHash === null ? open.length > 0 : !open.includes(attemptHash);
}

async function applyVerdict(
  tx: Tx,
  deps: SubmissionDependencies,
  submission: Submission,
  verdict: Verdict,
  at: Date,
): Promise<void> {
  const intent = intentOf(submission);
  const effects = effectsFor(deps, submission.kind);
  const store = (values: Partial<typeof submissions.$inferInsert>) =>
    tx.update(submissions).set(values).where(eq(submissions.id, submission.id));

  switch (verdict.kind) {
    case 'succeeded': {
      const { attemptHash: txHash, landed } = verdict;
      await decideSlot(tx, submission.id, txHash, 'LANDED', `ledger ${landed.ledger}`, at);
      await store({ state: 'SUCCEEDED', txHash, result: landed.result, message: null, settledAt: at });
      await effects.succeeded(tx, intent, { ...landed, txHash, at });
      return;
    }
    case 'givenUp':
    case 'refused': {
      const { attemptHash, refusal } = verdict;
      if (verdict.kind === 'givenUp') await buryAttempts(tx, verdict.buried, refusal.message, at);
      if (attemptHash !== null)
        await decideSlot(tx, submission.id, attemptHash, 'REFUSED', refusal.message, at);
      const state = await effects.refused(tx, intent, refusal, at);
      const settledAt = state === 'REFUSED' ? at : null;
      await store({ state, refusalReason: refusal.reason, message: refusal.message, settledAt });
      return;
    }
    case 'needsReview': {
      await store({ state: 'NEEDS_REVIEW', message: verdict.reason });
      await effects.needsReview(tx, intent, verdict.reason);
      return;
    }
  }
}

/** The one that landed used up the slot, so whatever it outbid, or was outbid by, can't land any more. */
async function decideSlot(
  tx: Tx,
  submissionId: string,
  landedHash: string,
  state: 'LANDED' | 'REFUSED',
  verdict: string,
  at: Date,
): Promise<void> {
  const open = await findOpenAttempts(tx, submissionId);
  await decideAttempt(tx, landedHash, state, verdict, at);
  const others = open.map((attempt) => attempt.hash).filter((hash) => hash !== landedHash);
  if (others.length > 0) await buryAttempts(tx, others, `${landedHash} used up the slot`, at);
}
