/**
 * Settles a submission: the final outcome, the attempt's evidence, the submission's state and its effects on
 * the platform, in one transaction under the submission's row lock. A second caller finds it settled.
 */
import { eq, sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import type { Tx } from '../../db/connection.ts';
import { givenRows, isGiven } from '../../db/manyRows.ts';
import { attempts, submissions } from '../../db/tables/index.ts';
import type { CallResult, NetworkCall, Refusal } from '../network/port.ts';
import {
  effectsFor,
  successOf,
  type Effects,
  type FoundOnNetwork,
  type Intent,
  type Landed,
} from './effects.ts';
import { decideAttempt, findOpenAttempts, markDead } from './attempts.ts';
import { decodeExact } from './exactJson.ts';
import { lockSubmissions } from './lockSubmissions.ts';
import { isForHalt, isOutdated } from './rules.ts';
import { lockHalts } from './halts.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

export type Submission = typeof submissions.$inferSelect;

export type ReviewCause = NonNullable<Submission['reviewCause']>;

export interface LandedConclusion {
  kind: 'succeeded';
  attemptHash: string;
  landed: { ledger: bigint; result: CallResult };
}

/** The final outcome of a submission; `attemptHash` is the attempt that it is about, if one was signed. */
export type Conclusion =
  | LandedConclusion
  | { kind: 'refused'; attemptHash: string | null; refusal: Refusal; ledger?: bigint }
  | { kind: 'needsReview'; attemptHash: string | null; cause: ReviewCause; reason: string }
  | OperatorsConclusion;

/** A decision about a submission under review; `dead` are the open attempts without a provable outcome. */
type OperatorsConclusion =
  | { kind: 'givenUp'; dead: readonly string[]; refusal: Refusal }
  /** The effect was made by a transaction that this database does not know. */
  | { kind: 'adopted'; dead: readonly string[]; evidence: string; result: CallResult; txHash: string | null };

/**
 * Checks and uses up the condition of an operator's decision, in the transaction in which it takes effect.
 */
export type Confirm = (tx: Tx) => Promise<void>;

export function intentOf(submission: Submission): Intent {
  return {
    submissionId: submission.id,
    targetType: submission.targetType,
    targetId: submission.targetId,
    signer: submission.signer,
    // Database rules keep what was encoded unchanged.
    call: decodeExact(submission.call) as NetworkCall,
  };
}

/**
 * Finds the call's effect, made by a transaction that this database does not know.
 * @throws NetworkUnavailable
 */
export async function findOnNetwork(
  deps: Pick<SubmissionDependencies, 'effects'>,
  intent: Intent,
): Promise<FoundOnNetwork | null> {
  return (await effectsFor(deps, intent).findOnNetwork?.(intent)) ?? null;
}

/**
 * @param submission as read before anything was found: only its constant fields and its resumptions are used
 * @param confirm the decision's condition, run under the submission's lock: if it throws, nothing is settled
 * @returns true when this call settled it; false when it was settled before, or the conclusion is outdated
 */
export async function settle(
  deps: SubmissionDependencies,
  submission: Submission,
  conclusion: Conclusion,
  confirm?: Confirm,
): Promise<boolean> {
  const at = deps.clock.now();
  const intent = intentOf(submission);
  const landed = landedOf(conclusion, at);
  const success = landed && (await successOf(effectsFor(deps, intent), { intent, landed }));
  const isSettled = await deps.db.transaction(async (tx) => {
    if (isForHalt(conclusion) && !(await lockHalts(tx))) return false;
    const locked = (await lockSubmissions(tx, [submission.id])).get(submission.id);
    if (locked === undefined) return false;
    const open = (await findOpenAttempts(tx, submission.id)).map(({ hash }) => hash);
    if (isOutdated(locked, open, submission, conclusion)) return false;
    await confirm?.(tx);
    await applyConclusion(tx, deps, { intent, open }, conclusion, at);
    if (success && landed) await success.succeeded(tx, [{ intent, landed }]);
    await deps.crashPoint('settlement-uncommitted');
    return true;
  });
  if (!isSettled) return false;
  await deps.crashPoint('settlement-committed');
  deps.stateSignal.notify(intent.targetId);
  // The effects of a success may have enqueued its successor.
  deps.stateSignal.notify(NEW_SUBMISSION);
  await success?.afterSucceeded();
  return true;
}

/** The conclusion for a submission that is unsigned when signing is halted. */
export function conclusionOfHalt(because: string): Conclusion {
  const reason = `Signing was halted (${because}): what this asks for may have been done already.`;
  return { kind: 'needsReview', attemptHash: null, cause: 'SIGNING_HALTED', reason };
}

function landedOf(conclusion: Conclusion, at: Date): Landed | null {
  if (conclusion.kind === 'succeeded') return { ...conclusion.landed, txHash: conclusion.attemptHash, at };
  if (conclusion.kind !== 'adopted') return null;
  return { result: conclusion.result, txHash: conclusion.txHash, ledger: null, at };
}

async function applyConclusion(
  tx: Tx,
  deps: SubmissionDependencies,
  { intent, open }: { intent: Intent; open: readonly string[] },
  conclusion: Conclusion,
  at: Date,
): Promise<void> {
  const effects = effectsFor(deps, intent);
  const store = (values: PgUpdateSetSource<typeof submissions>) =>
    tx
      .update(submissions)
      .set({ reviewCause: null, ...values })
      .where(eq(submissions.id, intent.submissionId));

  switch (conclusion.kind) {
    case 'succeeded':
      await recordLanded(tx, [{ submission: { id: intent.submissionId }, conclusion }], at);
      return;
    case 'adopted': {
      const { dead, evidence, result, txHash } = conclusion;
      await markDead(tx, dead, `an operator adopted another outcome: ${evidence}`, at);
      const adopted = { adoptedOutcome: evidence, stateReason: null, refusalReason: null };
      await store({ state: 'SUCCEEDED', txHash, result, ...adopted, settledAt: at });
      return;
    }
    case 'givenUp':
    case 'refused': {
      const { refusal } = conclusion;
      if (conclusion.kind === 'givenUp') await markDead(tx, conclusion.dead, refusal.message, at);
      else if (conclusion.attemptHash !== null) {
        const { attemptHash, ledger = null } = conclusion;
        await decideAttempt(tx, attemptHash, 'REFUSED', refusal.message, at, ledger);
        const others = open.filter((hash) => hash !== attemptHash);
        if (others.length > 0) await markDead(tx, others, `${attemptHash} used up the slot`, at);
      }
      const state = await effects.refused(tx, intent, refusal, at);
      const isSettled = state === 'REFUSED';
      await store({
        state,
        reviewCause: isSettled ? null : 'REFUSED',
        refusalReason: refusal.reason,
        stateReason: refusal.message,
        settledAt: isSettled ? at : null,
      });
      return;
    }
    case 'needsReview': {
      const { cause, reason } = conclusion;
      // The target does not get the node's last answer, which is for operators: owners read the target.
      const shown =
        cause === 'ATTEMPTS_DIED'
          ? sql`concat_ws('. ', ${reason}::text, ${submissions.stateReason})`
          : reason;
      await store({ state: 'NEEDS_REVIEW', reviewCause: cause, stateReason: shown });
      if (cause === 'SETTLEMENT_FAILED') await flagIfPossible(tx, deps, effects, intent, reason);
      else await effects.needsReview(tx, intent, reason);
      return;
    }
  }
}

/**
 * Whatever prevented the outcome from being written may also prevent the target from being flagged; the
 * submission is flagged in any case.
 */
async function flagIfPossible(
  tx: Tx,
  deps: SubmissionDependencies,
  effects: Effects,
  intent: Intent,
  reason: string,
): Promise<void> {
  try {
    await tx.transaction((nested) => effects.needsReview(nested, intent, reason));
  } catch (err) {
    deps.log.error(
      { submissionId: intent.submissionId, err },
      'the target of a failed settlement is not flagged',
    );
  }
}

/**
 * Records the success of many submissions, and decides their attempts: the landed attempt used the slot, so
 * the attempts that it replaced, or that replaced it, can't land any more.
 */
export async function recordLanded(
  tx: Pick<Tx, 'execute'>,
  items: readonly { submission: Pick<Submission, 'id'>; conclusion: LandedConclusion }[],
  at: Date,
): Promise<void> {
  const rows = items.map(({ submission: { id }, conclusion: { attemptHash: hash, landed } }) => ({
    id,
    hash,
    ledger: String(landed.ledger),
    result: landed.result,
  }));
  const time = sql`${at.toISOString()}::timestamptz`;
  await tx.execute(sql`${givenRows(rows, 'id uuid, hash text, ledger bigint, result jsonb')}, decided AS (
      UPDATE ${attempts} a SET
        state = CASE WHEN a.hash = v.hash THEN 'LANDED' ELSE 'DEAD' END::attempt_state,
        evidence = CASE WHEN a.hash = v.hash THEN 'ledger ' || v.ledger ELSE v.hash || ' used up the slot' END,
        ledger = CASE WHEN a.hash = v.hash THEN v.ledger END,
        decided_at = ${time}
      FROM v WHERE ${isGiven('a.submission_id')} AND (a.hash = v.hash OR a.state = 'OPEN'))
    UPDATE ${submissions} s SET state = 'SUCCEEDED', tx_hash = v.hash, result = v.result, state_reason = NULL,
      review_cause = NULL, settled_at = ${time}
    FROM v WHERE ${isGiven('s.id')}`);
}
