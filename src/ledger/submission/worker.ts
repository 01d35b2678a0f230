/**
 * The worker: claims due submissions and steps them until it is stopped. Any number of instances may run one.
 *
 * A claim pushes the submission's due time past the longest possible step, so that work which an instance
 * takes to its grave falls due again by itself. Due times are the database's, so instances need not agree
 * on the time.
 */
import { and, eq, sql } from 'drizzle-orm';
import { submissions } from '../../db/schema/index.ts';
import { messageOf } from '../../errors.ts';
import type { Submission } from './settle.ts';
import { step } from './step.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

/** Longer than any step: a step's network calls have time-outs of their own well below it. */
const CLAIM_SECONDS = 30;
/** Steps under way at once in one instance; each needs a database connection now and then. */
const MAX_CONCURRENT_STEPS = 8;
/** How long a worker that heard no doorbell waits before it looks by itself. */
const IDLE_POLL_MS = 1000;
const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 15_000;
/** A submission that keeps making progress within one claim gives way to others after so many steps. */
const MAX_STEPS_PER_CLAIM = 3;

export interface SubmissionWorker {
  start(): void;
  /** Finishes the steps under way and claims no more. */
  stop(): Promise<void>;
  /** Claims and steps what is due until nothing is. For tests and tools; the loop does the same. */
  drain(): Promise<void>;
}

export function createSubmissionWorker(deps: SubmissionDependencies): SubmissionWorker {
  const underWay = new Set<Promise<void>>();
  let running: Promise<void> | null = null;
  let stopping = false;

  function launch(submission: Submission): void {
    const work = carry(deps, submission).finally(() => underWay.delete(work));
    underWay.add(work);
  }

  /** Fills the free places; says whether there was anything to claim. */
  async function fill(): Promise<boolean> {
    const free = MAX_CONCURRENT_STEPS - underWay.size;
    if (free <= 0) return false;
    const claimed = await claimDue(deps, free);
    for (const submission of claimed) launch(submission);
    return claimed.length > 0;
  }

  async function loop(): Promise<void> {
    while (!stopping) {
      const rung = deps.subjects.next(NEW_SUBMISSION, IDLE_POLL_MS);
      try {
        await fill();
      } catch (error) {
        deps.log.error({ error: messageOf(error) }, 'claiming submissions failed');
        await rung;
        continue;
      }
      // Wait for a place, or for work: whichever is missing.
      await Promise.race(underWay.size >= MAX_CONCURRENT_STEPS ? underWay : [rung, ...underWay]);
    }
    await Promise.all(underWay);
  }

  return {
    start() {
      running ??= loop();
    },
    async stop() {
      stopping = true;
      deps.subjects.ring(NEW_SUBMISSION);
      await running;
    },
    async drain() {
      while ((await fill()) || underWay.size > 0) if (underWay.size > 0) await Promise.race(underWay);
    },
  };
}

async function claimDue(deps: SubmissionDependencies, limit: number): Promise<Submission[]> {
  const due = deps.db
    .select({ id: submissions.id })
    .from(submissions)
    .where(and(eq(submissions.state, 'PENDING'), sql`${submissions.dueAt} <= now()`))
    .orderBy(submissions.dueAt)
    .limit(limit)
    .for('update', { skipLocked: true });
  return deps.db
    .update(submissions)
    .set({ dueAt: sql`now() + make_interval(secs => ${CLAIM_SECONDS})` })
    .where(sql`${submissions.id} IN (${due})`)
    .returning();
}

async function carry(deps: SubmissionDependencies, submission: Submission): Promise<void> {
  try {
    for (let i = 0; i < MAX_STEPS_PER_CLAIM; i++) {
      const result = await step(deps, submission);
      if (result === 'settled') return;
      if (result === 'waiting') break;
    }
  } catch (error) {
    // Unknown, so nothing changes: the next step looks again.
    deps.log.warn({ submissionId: submission.id, error: messageOf(error) }, 'submission step failed');
  }
  await putBack(deps, submission).catch((error: unknown) => {
    // The claim runs out by itself.
    deps.log.error({ submissionId: submission.id, error: messageOf(error) }, 'putting back failed');
  });
}

/** Makes the submission due again after a back-off with jitter, so that a recovering network isn't stormed. */
async function putBack(deps: SubmissionDependencies, submission: Submission): Promise<void> {
  const exponent = Math.min(submission.fruitlessSteps, 16);
  const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** exponent, LONGEST_BACKOFF_MS);
  const delayMs = backoffMs * (0.5 + deps.random() / 2);
  await deps.db
    .update(submissions)
    .set({
      dueAt: sql`now() + make_interval(secs => ${delayMs / 1000})`,
      fruitlessSteps: sql`${submissions.fruitlessSteps} + 1`,
    })
    .where(and(eq(submissions.id, submission.id), eq(submissions.state, 'PENDING')));
}
