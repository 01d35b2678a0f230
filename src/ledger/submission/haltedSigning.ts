/**
 * Signing stops when network and database disagree about what a signing account has sent: a database restored
 * from an old copy would repeat the calls made since, and a network that was rolled back has lost landed
 * transactions.
 *
 *   signing ──they disagree──▶ halted ──nothing under way, all final, books and network agree──▶ signing
 *                               │  ▲ └──an operator resumes it; unsigned ones stay under review──▶ signing
 *                               └──┘ anything else: checked again later
 *
 * While it is halted, every unsigned submission of custody goes to review (step.ts). Proved agreement means
 * that the unknown transactions left the platform's tokens alone (a pause, a role, a fee), so those
 * submissions are resumed, except deposits of cash-outs. After an operator's decision they are resolved one
 * by one (review.ts).
 */
import { isDeepStrictEqual } from 'node:util';
import { and, asc, eq, inArray, isNotNull, isNull, lte, notInArray, sql } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { attempts, signingAccounts, submissions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { singleFlight } from '../../lib/singleFlight.ts';
import type { NetworkCallKind, NextSequences } from '../network/port.ts';
import { acceptLedger } from '../network/seenLedgers.ts';
import { isHaltYounger, keepAcceptance, readHalt, readHalts, type Halts } from './halts.ts';
import { haltOnReorg, readSequences, requireFinal } from './knownHistory.ts';
import { resumeWithin } from './review.ts';
import { conclusionOfHalt, settle, type Confirm } from './settle.ts';
import { takesUpSlot } from './sequenceSlots.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';
import { requireNothingRolledBack, resendRolledBack } from './rolledBackTransactions.ts';

/** Time between two reviews. Each one reads every token, for a reconciliation. */
const REVIEW_INTERVAL_SECONDS = 30;
/** Calls stay under way or not final for seconds to minutes. */
const SOON_SECONDS = 2;
/**
 * A longer halt may wait days for an operator; each poll costs questions to the node and lines in the log.
 */
const ENDS_SOON_WITHIN_MINUTES = 5;
/** Maximum disagreements shown; further ones say nothing new. */
const MAX_SHOWN = 5;
const PAGE_SIZE = 100;

/**
 * If signing is halted and no instance has checked it just now, checks whether it may go on. Also resumes the
 * submissions that an instance has left under review because it died after the end of a halt. Never rejects.
 */
export async function reviewHaltedSigning(deps: SubmissionDependencies): Promise<void> {
  try {
    const due = await deps.db
      .update(signingAccounts)
      .set({ reviewDueAt: sql`now() + make_interval(secs => ${REVIEW_INTERVAL_SECONDS})` })
      .where(lte(signingAccounts.reviewDueAt, sql`now()`))
      .returning();
    if (due.some(({ haltedBecause }) => haltedBecause !== null)) await review(deps);
    else if (due.length > 0) await resumeReviewed(deps);
  } catch (error) {
    // The result is unknown, so nothing changes.
    deps.log.warn({ err: error }, 'a halt of signing could not be reviewed: tried again soon');
  }
}

/** One review at a time in one instance: it may take longer than the interval, and a second is useless. */
export function createHaltReview(deps: SubmissionDependencies): () => Promise<void> {
  return singleFlight(() => reviewHaltedSigning(deps));
}

async function review(deps: SubmissionDependencies): Promise<void> {
  const halts = await readHalts(deps.db);
  const because = halts[0]?.because;
  const accounts = [...(deps.network.signingOrder?.accounts ?? [])];
  // Sequences are read before the comparison: an unknown transaction after it halts signing again.
  const [{ latest: expected, waiting }, final] = await Promise.all([
    readSequences(deps),
    deps.network.nextSequences('final'),
  ]);
  const resent = await resendRolledBack(deps, expected);
  const underWay = await deps.db.$count(attempts, and(inArray(attempts.source, accounts), takesUpSlot));
  // The comparison reads final facts only, so it does not see transactions that are not final.
  const isFinal = [...waiting].every(([address, sequence]) => (final.get(address) ?? -1n) >= sequence);
  if (resent > 0 || underWay > 0 || !isFinal) {
    // Calls under way can't be distinguished from missing ones, and settle without an operator.
    deps.log.warn(
      { haltedBecause: because, resent, underWay, isFinal },
      'signing stays halted: not all is final yet',
    );
    const mayEndSoon = await isHaltYounger(deps.db, ENDS_SOON_WITHIN_MINUTES);
    return pollAgainIn(deps, mayEndSoon ? SOON_SECONDS : REVIEW_INTERVAL_SECONDS);
  }
  const disagreements = await deps.reconcile();
  if (disagreements.length > 0) {
    deps.log.error(
      {
        haltedBecause: because,
        disagreements: disagreements.slice(0, MAX_SHOWN),
        total: disagreements.length,
      },
      'signing stays halted: books and network do not agree, or it is not proved. An operator decides: see docs/operations.md',
    );
    return pollAgainIn(deps, REVIEW_INTERVAL_SECONDS);
  }
  if (!(await endHalt(deps, { halts, expected, isProved: true }))) {
    deps.log.warn(
      { haltedBecause: because },
      'signing stays halted: it was halted again meanwhile, which is examined next',
    );
    return pollAgainIn(deps, SOON_SECONDS);
  }
  deps.log.warn({ haltedBecause: because }, 'signing goes on: books and network agree');
  await resumeReviewed(deps);
}

async function pollAgainIn(deps: SubmissionDependencies, seconds: number): Promise<void> {
  await deps.db
    .update(signingAccounts)
    .set({ reviewDueAt: sql`now() + make_interval(secs => ${seconds})` })
    .where(isNotNull(signingAccounts.haltedBecause));
}

interface Ending {
  /** As read before anything was examined. */
  halts: Halts;
  expected: NextSequences;
  isProved: boolean;
  confirm?: Confirm | undefined;
}

/**
 * Ends the halts, and stores the network's sequences as known. If agreement is proved, the review stays due,
 * so that another instance resumes the submissions when this one dies.
 * @returns false when another halt has begun since, which has not been examined: signing stays halted
 */
async function endHalt(
  deps: SubmissionDependencies,
  { halts, expected, isProved, confirm }: Ending,
): Promise<boolean> {
  // Read before the chain is compared, so that a later replacement of this block is noticed.
  const history = await deps.network.presentHistory();
  if (await isRewrittenSince(deps, halts)) return false;
  const reviewDueAt = isProved ? sql`now() + make_interval(secs => ${REVIEW_INTERVAL_SECONDS})` : null;
  return deps.db.transaction(async (tx) => {
    if (!isDeepStrictEqual(await readHalts(tx).for('update'), halts)) return false;
    // An account that is halted at this moment was not examined, and stays halted.
    const examined = halts.map((halt) => halt.address);
    await confirm?.(tx);
    // Committed with the decision: from then on all instances accept the present chain, and steps conclude
    // open attempts by it.
    if (history !== null) await keepAcceptance(tx, examined, await acceptLedger(tx, history), history);
    for (const [address, sequence] of expected) {
      await tx
        .update(signingAccounts)
        .set({ nextSequence: sql`greatest(${signingAccounts.nextSequence}, ${sequence}::bigint)` })
        .where(eq(signingAccounts.address, address));
    }
    await tx
      .update(signingAccounts)
      .set({ haltedBecause: null, reviewDueAt })
      .where(inArray(signingAccounts.address, examined));
    // Proof at the end of a later halt says nothing about the submissions of this one.
    const left = isProved ? and(waitsForEnd, inArray(submissions.kind, NEVER_PROVED)) : waitsForEnd;
    await tx.update(submissions).set({ reviewCause: 'SIGNING_RESUMED' }).where(left);
    return true;
  });
}

/** True also if the rewrite came before the halt, unnoticed: its history would be accepted unexamined. */
async function isRewrittenSince(deps: SubmissionDependencies, halts: Halts): Promise<boolean> {
  const found = await deps.network.continuity();
  if (found.status === 'whole' || halts.some(({ because }) => because === found.message)) return false;
  await haltOnReorg(deps, found.message);
  return true;
}

/**
 * Calls that may have been made even if books and network agree. A lost deposit had its own reference, and
 * its tokens may have come back: books and network agree whether or not a cash-out that is asked for again
 * was paid out before.
 */
const NEVER_PROVED: NetworkCallKind[] = ['setAllowance', 'depositOffRamp'];

/** Under review only because of the halt. */
const waitsForEnd = and(eq(submissions.state, 'NEEDS_REVIEW'), eq(submissions.reviewCause, 'SIGNING_HALTED'));

/**
 * Resumes the submissions that went to review only because of the halt. Those that an operator decides or
 * another instance resumes at this moment are skipped; while any is left, the review stays due.
 */
async function resumeReviewed(deps: SubmissionDependencies): Promise<void> {
  let resumed = 0;
  for (;;) {
    const count = await deps.db.transaction((tx) => resumePage(tx, deps));
    resumed += count;
    // The loop ends: resumed submissions leave the review, and none is added unless signing halts again.
    if (count < PAGE_SIZE) break;
  }
  await deps.db
    .update(signingAccounts)
    .set({ reviewDueAt: null })
    .where(
      and(
        isNull(signingAccounts.haltedBecause),
        sql`NOT EXISTS (SELECT 1 FROM ${submissions} WHERE ${waitsForEnd})`,
      ),
    );
  deps.log.warn({ resumed }, 'what waited for the end of the halt goes on');
  deps.stateSignal.notify(NEW_SUBMISSION);
}

async function resumePage(tx: Tx, deps: SubmissionDependencies): Promise<number> {
  if ((await readHalt(tx)) !== null) return 0;
  const page = await tx
    .select({ id: submissions.id, resumptions: submissions.resumptions })
    .from(submissions)
    .where(waitsForEnd)
    .orderBy(asc(submissions.createdAt))
    .limit(PAGE_SIZE)
    .for('update', { skipLocked: true });
  for (const waiting of page) await resumeWithin(tx, deps, waiting);
  return page.length;
}

/**
 * Ends a halt by an operator's decision. Unsigned submissions go to review first, and are decided one by one.
 * @returns why signing was halted
 * @throws DomainError CONFLICT when signing is not halted, or is halted for another reason by the end; when
 *   landed transactions are rolled back; when sent ones are not final yet, so that no read shows their effect;
 *   NetworkUnavailable
 */
export async function resumeSigning(deps: SubmissionDependencies, confirm?: Confirm): Promise<string> {
  const halts = await readHalts(deps.db);
  const because = halts[0]?.because ?? null;
  if (because === null) throw new DomainError('CONFLICT', 'Signing is not halted.');
  const { latest: expected, waiting } = await readSequences(deps);
  await requireNothingRolledBack(deps, expected);
  await requireFinal(deps, waiting);
  await reviewUnsigned(deps, because);
  if (!(await endHalt(deps, { halts, expected, isProved: false, confirm }))) {
    throw new DomainError(
      'CONFLICT',
      'Signing was halted for another reason meanwhile, or resumed: read why, and decide again.',
    );
  }
  deps.log.warn({ haltedBecause: because }, 'signing resumed by an operator');
  deps.stateSignal.notify(NEW_SUBMISSION);
  return because;
}

async function reviewUnsigned(deps: SubmissionDependencies, because: string): Promise<void> {
  const isUnsigned = and(
    eq(submissions.state, 'PENDING'),
    eq(submissions.signer, 'CUSTODY'),
    sql`NOT EXISTS (SELECT 1 FROM ${attempts} WHERE ${attempts.submissionId} = ${submissions.id}
      AND ${attempts.state} = 'OPEN')`,
  );
  const conclusion = conclusionOfHalt(because);
  const passed: string[] = [];
  for (;;) {
    const page = await deps.db
      .select()
      .from(submissions)
      // Submissions that another instance signs or settles now stay as they are, and are not visited again.
      .where(and(isUnsigned, passed.length > 0 ? notInArray(submissions.id, passed) : undefined))
      .limit(PAGE_SIZE);
    for (const submission of page) {
      if (!(await settle(deps, submission, conclusion))) passed.push(submission.id);
    }
    if (page.length < PAGE_SIZE) return;
  }
}
