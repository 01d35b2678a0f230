/**
 * One step of one submission.
 *
 *            ┌────────────────────────── proved dead ─────────────────────────┐
 *            ▼                                                                │
 *   PENDING, no attempt ──sign, commit──▶ PENDING, attempt open ──send, ask──▶│
 *            │                                   │   ▲                        │
 *            │                                   │   └─ not decided yet: same │
 *            │                                   │      bytes again, later    │
 *            │ simulation refuses                │
 *            ▼                                   ├──landed──────────────▶ SUCCEEDED
 *         REFUSED ◀──────landed and refused──────┤
 *                                                └──history gone, or too
 *                                                   many attempts died───▶ NEEDS_REVIEW
 *
 * A broken connection or a time-out at any point changes nothing: the next step looks again.
 */
import { count, eq } from 'drizzle-orm';
import { attempts } from '../../db/schema/index.ts';
import { NetworkRefusal } from '../network/port.ts';
import { decideAttempt, findOpenAttempt, type Attempt } from './attempts.ts';
import { effectsFor, intentOf, settle, type Submission } from './settle.ts';
import { signAttempt } from './signAttempt.ts';
import type { SubmissionDependencies } from './submission.ts';

/** So many attempts can only die when something is wrong that signing again won't mend. */
const MAX_ATTEMPTS = 20;

/** What a step achieved: `settled` (or no longer ours), `progress` (step again now), `waiting` (later). */
export type StepResult = 'settled' | 'progress' | 'waiting';

export async function step(deps: SubmissionDependencies, submission: Submission): Promise<StepResult> {
  const open = await findOpenAttempt(deps.db, submission.id);
  // A committed attempt may have been sent before a crash: ask before sending again.
  if (open) return (await conclude(deps, submission, open)) ?? sendAndAsk(deps, submission, open);

  const reason = await reasonForReview(deps, submission);
  if (reason !== null) {
    await settle(deps, submission.id, { kind: 'needsReview', attemptHash: null, reason });
    return 'settled';
  }
  const signed = await signOrRefuse(deps, submission);
  return signed === null ? 'settled' : sendAndAsk(deps, submission, signed);
}

async function reasonForReview(deps: SubmissionDependencies, submission: Submission): Promise<string | null> {
  const [row] = await deps.db
    .select({ attempts: count() })
    .from(attempts)
    .where(eq(attempts.submissionId, submission.id));
  if ((row?.attempts ?? 0) >= MAX_ATTEMPTS) {
    return `${MAX_ATTEMPTS} signed attempts died without landing`;
  }
  const effects = effectsFor(deps, submission.kind);
  return (await effects.reasonForReview?.(intentOf(submission))) ?? null;
}

async function signOrRefuse(deps: SubmissionDependencies, submission: Submission): Promise<Attempt | null> {
  try {
    return await signAttempt(deps, intentOf(submission));
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    const refusal = { reason: error.reason, message: error.message };
    await settle(deps, submission.id, { kind: 'refused', attemptHash: null, refusal });
    return null;
  }
}

async function sendAndAsk(
  deps: SubmissionDependencies,
  submission: Submission,
  attempt: Attempt,
): Promise<StepResult> {
  const answer = await deps.network.broadcast(attempt.signedBytes);
  await deps.checkpoint('broadcast-sent');
  if (answer.status !== 'accepted') {
    deps.log.warn({ submissionId: submission.id, hash: attempt.hash, answer }, 'broadcast not accepted');
  }
  return (await conclude(deps, submission, attempt)) ?? 'waiting';
}

/** Asks the network and acts on its word; null while the attempt can still land. */
async function conclude(
  deps: SubmissionDependencies,
  submission: Submission,
  attempt: Attempt,
): Promise<StepResult | null> {
  const outcome = await deps.network.outcome(attempt);
  await deps.checkpoint('outcome-known');
  const attemptHash = attempt.hash;
  switch (outcome.status) {
    case 'pending':
      return null;
    case 'succeeded':
      await settle(deps, submission.id, { kind: 'succeeded', attemptHash, landed: outcome });
      return 'settled';
    case 'refused':
      await settle(deps, submission.id, { kind: 'refused', attemptHash, refusal: outcome.refusal });
      return 'settled';
    case 'dead':
      await buryAttempt(deps, submission, attempt, outcome.proof);
      return 'progress';
    case 'undeterminable':
      await settle(deps, submission.id, { kind: 'needsReview', attemptHash, reason: outcome.reason });
      return 'settled';
  }
}

async function buryAttempt(
  deps: SubmissionDependencies,
  submission: Submission,
  attempt: Attempt,
  proof: string,
): Promise<void> {
  await decideAttempt(deps.db, attempt.hash, 'DEAD', proof, deps.clock.now());
  deps.log.warn({ submissionId: submission.id, hash: attempt.hash, proof }, 'attempt proved dead');
}
