/**
 * One step of one submission.
 *
 *            ┌────────────────────────── proved dead ─────────────────────────┐
 *            ▼                                                                │
 *   PENDING, no attempt ──sign, commit──▶ PENDING, attempt open ──send, ask──▶│
 *     │      │     ▲  │                          │   ▲                        │
 *     │      │     └──┘ no slot is free          │   ├─ not decided yet: same bytes again, later
 *     │      │                                   │   └─ stuck: the same slot again, at a higher fee
 *     │      │ simulation refuses twice, and     │
 *     │      ▼ nothing unknown was sent          ├──landed──────────────▶ SUCCEEDED
 *     │   REFUSED ◀──────landed and refused──────┤
 *     │                                          └──history gone, too many attempts died,
 *     └──signing is halted, or the network shows      or the outcome can't be written───▶ NEEDS_REVIEW
 *        that it was done already─────────────────────────────────────────────────────────▶ NEEDS_REVIEW
 *
 * A holder's call that is proved dead is REFUSED, because only the holder could sign it again.
 *
 * A broken connection or a time-out at any point changes nothing: the next step asks again.
 */
import { ChainReorganised, NetworkRefusal, type Draft, type Refusal } from '../network/port.ts';
import type { Attempt } from './attempts.ts';
import { effectsFor, type Intent } from './effects.ts';
import { checkHistory, haltOnMismatch, haltOnReorg } from './knownHistory.ts';
import { conclusionOfHalt, findOnNetwork, intentOf, type Submission, type Conclusion } from './settle.ts';
import { settleOrReview } from './settleOrReview.ts';
import { NEVER_SIGNED_AGAIN } from './signedByHolder.ts';
import { replaceAttempt } from './signAttempt.ts';
import { outcomeOfSlot } from './slotOutcome.ts';
import { SequenceMismatch } from './sequenceMismatch.ts';
import type { StepStore } from './stepStore.ts';
import type { SubmissionDependencies } from './submission.ts';

/** After this many deaths, something is wrong that signing again won't fix. */
const MAX_ATTEMPTS = 20;
/** A landed attempt without effect is charged: the same cause this often in a row is permanent. */
const MAX_PAID_DEATHS = 3;
/** A node may have dropped the bytes, so each fourth question, beginning with the first, sends them again. */
const POLLS_PER_SENDING = 4;

/**
 * The result of a step: `settled` (by this or another instance), `progress` (step again now), `waiting` for
 * the network (ask again later), `unsent` (the same, but nothing was sent this time), `no-slot` (nothing was
 * signed; wait for others to finish), or why the node did not take custody's transaction.
 */
type StepResult = 'settled' | 'progress' | 'waiting' | 'unsent' | 'no-slot' | { notTaken: string };

export async function step(
  deps: SubmissionDependencies,
  store: StepStore,
  submission: Submission,
): Promise<StepResult> {
  const { open, lastNumber } = await store.readAttempts(submission.id);
  // A committed attempt may have been sent before a crash: ask before sending again.
  if (open.length > 0) {
    const concluded = await conclude(deps, store, submission, open);
    if (concluded !== null) return concluded;
    // Each step asks, but does not send the same bytes every time to a node that is between two ledgers.
    // After a failed step, the bytes may never have been sent.
    const mayBeUnsent = submission.failedSteps > 0;
    if (deps.network.signingOrder && !mayBeUnsent && submission.fruitlessSteps % POLLS_PER_SENDING !== 0)
      return 'unsent';
    return sendAndAsk(deps, store, submission, await replaceOpen(deps, open));
  }
  if (submission.signer === 'HOLDER') {
    await store.settle(submission, { kind: 'refused', attemptHash: null, refusal: NEVER_SIGNED_AGAIN });
    return 'settled';
  }
  const signing = await store.readSigningState();
  if (signing !== null) {
    if (signing.haltedBecause !== null) return waitForEndOfHalt(store, submission, signing.haltedBecause);
    // Checked before any simulation: most of a long queue only waits.
    if (signing.freeSlots === 0) return 'no-slot';
  }
  const death = lastNumber === 0 ? null : await reasonNotToSignAgain(store, submission);
  if (death !== null) return toReview(store, submission, 'ATTEMPTS_DIED', death);
  const intent = intentOf(submission);
  const obstacle = await effectsFor(deps, intent).reasonForReview?.(intent);
  if (obstacle) return toReview(store, submission, 'REFUSED', obstacle);
  return sign(deps, store, submission);
}

/** Sends the submission to review, unless the halt has ended meanwhile, or another instance has signed it. */
async function waitForEndOfHalt(
  store: StepStore,
  submission: Submission,
  because: string,
): Promise<StepResult> {
  return (await store.settle(submission, conclusionOfHalt(because))) ? 'settled' : 'no-slot';
}

async function toReview(
  store: StepStore,
  submission: Submission,
  cause: Extract<Conclusion, { kind: 'needsReview' }>['cause'],
  reason: string,
): Promise<'settled'> {
  await store.settle(submission, { kind: 'needsReview', attemptHash: null, cause, reason });
  return 'settled';
}

async function reasonNotToSignAgain(store: StepStore, submission: Submission): Promise<string | null> {
  const causes = await store.readCauses(submission.id, submission.attemptsBeforeResume, MAX_ATTEMPTS);
  if (causes.length >= MAX_ATTEMPTS) return `${MAX_ATTEMPTS} signed attempts died without landing`;
  const last = causes.slice(0, MAX_PAID_DEATHS);
  const [cause = null] = last;
  if (cause === null || last.length < MAX_PAID_DEATHS || last.some((one) => one !== cause)) return null;
  return `${MAX_PAID_DEATHS} attempts running landed without effect, and were paid for, of the same cause: ${cause}`;
}

async function sign(
  deps: SubmissionDependencies,
  store: StepStore,
  submission: Submission,
): Promise<StepResult> {
  const intent = intentOf(submission);
  try {
    const [draft, found] = await Promise.all([draftOrRefusal(deps, intent), findOnNetwork(deps, intent)]);
    if (found !== null || 'reason' in draft) return await endUnsigned(deps, store, submission, draft);
    // The sequences are read after findOnNetwork, so that they show a transaction sent elsewhere in between.
    const signed = await store.sign({ intent, draft });
    if (signed === 'no-slot') return 'no-slot';
    return signed.length === 0 ? 'settled' : await sendAndAsk(deps, store, submission, signed);
  } catch (error) {
    if (error instanceof SequenceMismatch) await haltOnMismatch(deps, error);
    else if (error instanceof ChainReorganised) await haltOnReorg(deps, error.message);
    else throw error;
    return 'progress';
  }
}

async function draftOrRefusal(deps: SubmissionDependencies, { call }: Intent): Promise<Draft | Refusal> {
  try {
    return await deps.network.draft(call);
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    return error;
  }
}

/**
 * Ends a submission that was not signed. A simulation may refuse a call that an unknown transaction of a
 * signing account has made already (the balance is burned, the reference used). So the sequences are read
 * after the simulation, and a refusal is believed only when the database knows all of them and the network
 * shows no effect of the call.
 */
async function endUnsigned(
  deps: SubmissionDependencies,
  store: StepStore,
  submission: Submission,
  drafted: Draft | Refusal,
): Promise<StepResult> {
  if (!(await areSequencesKnown(deps, store))) return 'progress';
  let refusal = 'reason' in drafted ? drafted : null;
  if (refusal !== null) {
    // A node that is behind refuses because it lacks what landed last. The sequences came from a newer
    // ledger, so an adapter that notes the ledgers of its answers now rejects an older one. The repeated
    // refusal is examined the same way.
    const again = await draftOrRefusal(deps, intentOf(submission));
    if (!('reason' in again) || !(await areSequencesKnown(deps, store))) return 'progress';
    refusal = again;
  }
  const found = await findOnNetwork(deps, intentOf(submission));
  if (found !== null) return toReview(store, submission, 'FOUND_ON_NETWORK', found.evidence);
  // The effect that was found has been settled meanwhile by its own attempt.
  if (refusal === null) return 'progress';
  await store.settle(submission, { kind: 'refused', attemptHash: null, refusal });
  return 'settled';
}

async function areSequencesKnown(deps: SubmissionDependencies, store: StepStore): Promise<boolean> {
  const order = deps.network.signingOrder;
  if (!order) return true;
  if ((await store.readSigningState())?.mayLandUnseen) return false;
  return checkHistory(deps, order);
}

async function replaceOpen(
  deps: SubmissionDependencies,
  open: readonly Attempt[],
): Promise<readonly Attempt[]> {
  const latest = open.at(-1);
  const higher = latest && (await replaceAttempt(deps, latest));
  if (!higher) return open;
  deps.log.warn(
    { submissionId: higher.submissionId, txHash: higher.hash, replaces: higher.replaces },
    'attempt replaced',
  );
  return [...open, higher];
}

async function sendAndAsk(
  deps: SubmissionDependencies,
  store: StepStore,
  submission: Submission,
  open: readonly Attempt[],
): Promise<StepResult> {
  let notTaken: string | null = null;
  // The newest is sent first. If the node refuses it, for example for lack of funds, an earlier one may land.
  for (const { hash, signedBytes } of open.toReversed()) {
    const answer = await deps.network.broadcast(signedBytes);
    await deps.crashPoint('broadcast-sent');
    notTaken = answer.status === 'refused' ? answer.reason : null;
    if (answer.status === 'accepted') break;
    deps.log.warn({ submissionId: submission.id, txHash: hash, answer }, 'broadcast not accepted');
    if (answer.status === 'unknown') break;
  }
  const concluded = await conclude(deps, store, submission, open);
  if (concluded !== null) return concluded;
  // The holder pays for a holder's transaction, so operators are not told why the node refused it.
  return notTaken === null || submission.signer === 'HOLDER' ? 'waiting' : { notTaken };
}

/** Asks the network and acts on the outcome; null while the call can still land. */
async function conclude(
  deps: SubmissionDependencies,
  store: StepStore,
  submission: Submission,
  open: readonly Attempt[],
): Promise<StepResult | null> {
  const { attempt, outcome } = await outcomeOfSlot(deps.network, open);
  await deps.crashPoint('outcome-known');
  const attemptHash = attempt.hash;
  switch (outcome.status) {
    case 'pending':
      return null;
    case 'succeeded':
      await settleOrReview(deps, store, submission, { kind: 'succeeded', attemptHash, landed: outcome });
      return 'settled';
    case 'refused': {
      const found = await findOnNetwork(deps, intentOf(submission));
      const { refusal, ledger } = outcome;
      const conclusion: Conclusion = found
        ? { kind: 'needsReview', attemptHash, cause: 'FOUND_ON_NETWORK', reason: found.evidence }
        : { kind: 'refused', attemptHash, refusal, ledger };
      await settleOrReview(deps, store, submission, conclusion);
      return 'settled';
    }
    case 'dead':
      await store.endAttempts(submission, open, outcome);
      deps.log.warn(
        { submissionId: submission.id, txHash: attemptHash, proof: outcome.proof },
        'attempts proved dead',
      );
      return 'progress';
    case 'undeterminable': {
      const { reason } = outcome;
      await store.settle(submission, { kind: 'needsReview', attemptHash, cause: 'UNDETERMINABLE', reason });
      return 'settled';
    }
  }
}
