/**
 * One step of one submission.
 *
 *            ┌────────────────────────── proved dead ─────────────────────────┐
 *            ▼                                                                │
 *   PENDING, no attempt ──sign, commit──▶ PENDING, attempt open ──send, ask──▶│
 *            │     ▲  │                          │   ▲                        │
 *            │     └──┘ no slot is free          │   ├─ not decided yet: same bytes again, later
 *            │                                   │   └─ stuck: the same slot again, at a higher fee
 *            │ simulation refuses                │
 *            ▼                                   ├──landed──────────────▶ SUCCEEDED
 *         REFUSED ◀──────landed and refused──────┤
 *                                                └──history gone, or too
 *                                                   many attempts died───▶ NEEDS_REVIEW
 *
 * What a holder signed with a key of their own is never signed again here: proved dead, it is REFUSED.
 *
 * A broken connection or a time-out at any point changes nothing: the next step looks again.
 */
import { eq } from 'drizzle-orm';
import { attempts } from '../../db/schema/index.ts';
import { NetworkRefusal, type Outcome } from '../network/port.ts';
import { buryAttempts, countSigned, findOpenAttempts, type Attempt } from './attempts.ts';
import { haltSigning } from './haltedSigning.ts';
import { effectsFor, intentOf, settle, type Submission } from './settle.ts';
import { NEVER_SIGNED_AGAIN } from './signedByHolder.ts';
import { outbidAttempt, signAttempt } from './signAttempt.ts';
import { outcomeOfSlot } from './slotOutcome.ts';
import { readSigningState, SequenceAhead } from './slots.ts';
import type { SubmissionDependencies } from './submission.ts';

/** So many attempts can only die when something is wrong that signing again won't mend. */
const MAX_ATTEMPTS = 20;
/** A node may have dropped what it was sent, so it is sent again; the first look is always one of these. */
const LOOKS_PER_SENDING = 4;

/**
 * What a step achieved: `settled` (or no longer ours), `progress` (step again now), `waiting` for the network (look
 * again later), `no-slot` (nothing was signed; wait for others to finish).
 */
export type StepResult = 'settled' | 'progress' | 'waiting' | 'no-slot';

export async function step(deps: SubmissionDependencies, submission: Submission): Promise<StepResult> {
  const { signingOrder } = deps.network;
  const open = await findOpenAttempts(deps.db, submission.id);
  // A committed attempt may have been sent before a crash: ask before sending again.
  if (open.length > 0) {
    const concluded = await conclude(deps, submission, open);
    if (concluded !== null) return concluded;
    // Each look asks; a node that waits for its next ledger need not get the same bytes every time.
    if (signingOrder && submission.fruitlessSteps % LOOKS_PER_SENDING !== 0) return 'waiting';
    return sendAndAsk(deps, submission, await outbid(deps, open));
  }
  if (submission.signer === 'HOLDER') {
    await settle(deps, submission.id, { kind: 'refused', attemptHash: null, refusal: NEVER_SIGNED_AGAIN });
    return 'settled';
  }
  // Known before anything is simulated: most of a long queue only waits.
  if (signingOrder && (await readSigningState(deps.db, signingOrder)).freeSlots === 0) return 'no-slot';

  const reason = await reasonForReview(deps, submission);
  if (reason !== null) {
    await settle(deps, submission.id, { kind: 'needsReview', attemptHash: null, reason });
    return 'settled';
  }
  const signed = await sign(deps, submission);
  return Array.isArray(signed) ? sendAndAsk(deps, submission, signed) : signed;
}

async function reasonForReview(deps: SubmissionDependencies, submission: Submission): Promise<string | null> {
  const signed = await countSigned(deps.db, submission.id);
  if (signed - submission.attemptsBeforeResume >= MAX_ATTEMPTS) {
    return `${MAX_ATTEMPTS} signed attempts died without landing`;
  }
  const effects = effectsFor(deps, submission.kind);
  return (await effects.reasonForReview?.(intentOf(submission))) ?? null;
}

async function sign(deps: SubmissionDependencies, submission: Submission): Promise<Attempt[] | StepResult> {
  try {
    const signed = await signAttempt(deps, intentOf(submission));
    if (signed === null) return 'no-slot';
    return signed.length === 0 ? 'settled' : signed;
  } catch (error) {
    if (error instanceof SequenceAhead) {
      await haltSigning(deps, deps.db, error);
      return 'no-slot';
    }
    if (!(error instanceof NetworkRefusal)) throw error;
    const refusal = { reason: error.reason, message: error.message };
    await settle(deps, submission.id, { kind: 'refused', attemptHash: null, refusal });
    return 'settled';
  }
}

async function outbid(deps: SubmissionDependencies, open: readonly Attempt[]): Promise<readonly Attempt[]> {
  const latest = open.at(-1);
  const higher = latest && (await outbidAttempt(deps, latest));
  if (!higher) return open;
  deps.log.warn({ submissionId: higher.submissionId, hash: higher.hash, outbids: higher.outbids }, 'outbid');
  return [...open, higher];
}

async function sendAndAsk(
  deps: SubmissionDependencies,
  submission: Submission,
  open: readonly Attempt[],
): Promise<StepResult> {
  const latest = open.at(-1);
  if (!latest) return 'settled';
  const answer = await deps.network.broadcast(latest.signedBytes);
  await deps.checkpoint('broadcast-sent');
  if (answer.status !== 'accepted') {
    deps.log.warn({ submissionId: submission.id, hash: latest.hash, answer }, 'broadcast not accepted');
  }
  return (await conclude(deps, submission, open)) ?? 'waiting';
}

/** Asks the network and acts on its word; null while the call can still land. */
async function conclude(
  deps: SubmissionDependencies,
  submission: Submission,
  open: readonly Attempt[],
): Promise<StepResult | null> {
  const { attempt, outcome } = await outcomeOfSlot(deps.network, open);
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
      await bury(deps, submission, open, outcome);
      return 'progress';
    case 'undeterminable':
      await settle(deps, submission.id, { kind: 'needsReview', attemptHash, reason: outcome.reason });
      return 'settled';
  }
}

/**
 * Dead bytes may be signed again, unless their slot was taken by a transaction that this database knows nothing of:
 * that may have been the very same call, signed for a newer copy. Nothing is signed then before it is looked at.
 */
async function bury(
  deps: SubmissionDependencies,
  submission: Submission,
  open: readonly Attempt[],
  { proof, usedBy }: Extract<Outcome, { status: 'dead' }>,
): Promise<void> {
  const hashes = open.map((attempt) => attempt.hash);
  const [address] = open.map((attempt) => attempt.source);
  await deps.db.transaction(async (tx) => {
    await buryAttempts(tx, hashes, proof, deps.clock.now());
    if (submission.signer === 'HOLDER' || usedBy === undefined || address === undefined) return;
    if (usedBy !== null && (await tx.$count(attempts, eq(attempts.hash, usedBy))) > 0) return;
    await haltSigning(deps, tx, { address, message: `${proof}, which this database knows nothing of` });
  });
  deps.log.warn({ submissionId: submission.id, hashes, proof }, 'attempts proved dead');
}
