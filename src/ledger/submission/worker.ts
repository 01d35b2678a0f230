/**
 * The worker: claims due submissions and steps them until it is stopped. Any number of instances may run one.
 */
import { and, eq, sql, type SQL } from 'drizzle-orm';
import { claimDue } from '../../db/claimDue.ts';
import { backoffMs, createDueWorker, type DueWorker } from '../../db/dueWorker.ts';
import { attempts, submissions } from '../../db/schema/index.ts';
import { messageOf } from '../../errors.ts';
import { reviewHaltedSigning } from './haltedSigning.ts';
import type { Submission } from './settle.ts';
import { readSigningState } from './slots.ts';
import { step } from './step.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

/** Longer than any step: a step's network calls have time-outs of their own well below it. */
const CLAIM_SECONDS = 30;
const MAX_CONCURRENT_STEPS = 12;
/** The same for a holder's: nobody here can hurry it, and on some networks it never ends by itself. */
const WHILE_HOLDER_PENDING = { firstMs: 250, longestMs: 15 * 60_000, factor: 1.32 };
const AFTER_FAILURE = { firstMs: 250, longestMs: 15_000 };
/**
 * While the network works on it. Each wait is a seventh longer, so that what lands is noticed within about a seventh
 * of the time it took, on a ledger of a second as on one that is final after a quarter of an hour.
 */
const WHILE_PENDING = { firstMs: 250, longestMs: 15_000, factor: 1.15 };
/** Free slots ring the bell; this is for the rings that are lost. */
const NO_SLOT_DELAY_MS = 1000;
/** A network with numbers closes a ledger every few seconds: looking four times a second adds little to that. */
const IDLE_POLL_MS = 250;
/** A submission that keeps making progress within one claim gives way to others after so many steps. */
const MAX_STEPS_PER_CLAIM = 3;

export type SubmissionWorker = DueWorker;

export function createSubmissionWorker(deps: SubmissionDependencies): SubmissionWorker {
  return createDueWorker({
    name: 'submissions',
    bell: deps.subjects,
    bellKey: NEW_SUBMISSION,
    maxConcurrent: MAX_CONCURRENT_STEPS,
    claim: (limit) => claimInOrder(deps, limit),
    carry: (submission) => carry(deps, submission),
    ...(deps.network.signingOrder ? { idlePollMs: IDLE_POLL_MS } : {}),
    log: deps.log,
  });
}

/**
 * Each kind of work has a share of every claim, so that none keeps the others waiting: what custody has under way, which
 * gives its slots back; what is not signed yet, as far as there are slots; and what holders signed, which is theirs to
 * hurry and may stay open for ever.
 */
async function claimInOrder(deps: SubmissionDependencies, limit: number): Promise<Submission[]> {
  const { signingOrder } = deps.network;
  if (signingOrder === null) return claim(deps, limit);
  const byCustody = eq(submissions.signer, 'CUSTODY');
  const isUnderWay = sql`EXISTS (SELECT 1 FROM ${attempts} WHERE ${attempts.submissionId} = ${submissions.id}
    AND ${attempts.state} = 'OPEN')`;
  const underWay = await claim(deps, Math.ceil(limit / 2), and(byCustody, isUnderWay));
  const { isHalted, freeSlots } = await readSigningState(deps.db, signingOrder);
  if (isHalted) void reviewHaltedSigning(deps);
  const quarter = Math.ceil(limit / 4);
  const fresh = Math.min(limit - underWay.length - quarter, freeSlots);
  const unsigned = fresh > 0 ? await claim(deps, fresh, and(byCustody, sql`NOT ${isUnderWay}`)) : [];
  const ofHolders = await claim(deps, quarter, eq(submissions.signer, 'HOLDER'));
  return [...underWay, ...unsigned, ...ofHolders];
}

function claim(deps: SubmissionDependencies, limit: number, condition?: SQL): Promise<Submission[]> {
  return claimDue(deps.db, submissions, {
    condition: and(eq(submissions.state, 'PENDING'), condition),
    limit,
    claimSeconds: CLAIM_SECONDS,
  });
}

async function carry(deps: SubmissionDependencies, submission: Submission): Promise<void> {
  let backoff: Parameters<typeof backoffMs>[1] =
    submission.signer === 'HOLDER' ? WHILE_HOLDER_PENDING : WHILE_PENDING;
  try {
    for (let i = 0; i < MAX_STEPS_PER_CLAIM; i++) {
      const result = await step(deps, submission);
      if (result === 'settled') return;
      if (result === 'waiting') break;
      if (result === 'no-slot') return await putBackSoon(deps, submission);
    }
  } catch (error) {
    // Unknown, so nothing changes: the next step looks again.
    deps.log.warn({ submissionId: submission.id, error: messageOf(error) }, 'submission step failed');
    backoff = AFTER_FAILURE;
  }
  await putBack(deps, submission, backoff).catch((error: unknown) => {
    // The claim runs out by itself.
    deps.log.error({ submissionId: submission.id, error: messageOf(error) }, 'putting back failed');
  });
}

/** Nothing was tried, so nothing counts as fruitless. */
async function putBackSoon(deps: SubmissionDependencies, submission: Submission): Promise<void> {
  await deps.db
    .update(submissions)
    .set({ dueAt: sql`now() + make_interval(secs => ${NO_SLOT_DELAY_MS / 1000})` })
    .where(and(eq(submissions.id, submission.id), eq(submissions.state, 'PENDING')));
}

/** Makes the submission due again after a back-off. */
async function putBack(
  deps: SubmissionDependencies,
  submission: Submission,
  backoff: Parameters<typeof backoffMs>[1],
): Promise<void> {
  const delayMs = backoffMs(submission.fruitlessSteps, backoff, deps.random);
  await deps.db
    .update(submissions)
    .set({
      dueAt: sql`now() + make_interval(secs => ${delayMs / 1000})`,
      fruitlessSteps: sql`${submissions.fruitlessSteps} + 1`,
    })
    .where(and(eq(submissions.id, submission.id), eq(submissions.state, 'PENDING')));
}
