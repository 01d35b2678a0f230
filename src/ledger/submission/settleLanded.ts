/**
 * Settles many landed calls of one kind in one transaction. Each has its own outcome; when the effect of one can't be
 * written, nothing of the transaction is, and the caller divides it (stepBatches.ts).
 */
import { sql, type SQL } from 'drizzle-orm';
import { givenRows, inOneStatement, isGiven } from '../../db/manyRows.ts';
import { attempts, submissions } from '../../db/tables/index.ts';
import type { LandedIntent, LandedTogether } from './effects.ts';
import { lockSubmissions, type SkipLocked } from './lockSubmissions.ts';
import { isSettled } from './rules.ts';
import { intentOf, type Submission, type Conclusion } from './settle.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

export interface LandedSubmission {
  submission: Submission;
  conclusion: Extract<Conclusion, { kind: 'succeeded' }>;
}

/** `locked` when another transaction holds the submission and it was asked not to wait for it. */
export type SettledTogether = 'settled' | 'settled-before' | 'locked';

export async function settleLanded(
  deps: SubmissionDependencies,
  together: LandedTogether,
  items: readonly LandedSubmission[],
  lock?: SkipLocked,
): Promise<SettledTogether[]> {
  const at = deps.clock.now();
  const landedOf = new Map(items.map((item) => [item.submission.id, landedIntent(item, at)]));
  const effects = await together([...landedOf.values()]);
  const results = await deps.db.transaction(async (tx) => {
    const states = await lockSubmissions(tx, [...landedOf.keys()], lock);
    const open = items.filter(({ submission: { id } }) => {
      const state = states.get(id);
      return state !== undefined && !isSettled(state);
    });
    if (open.length > 0) {
      await Promise.all([
        tx.execute(inOneStatement([decideSlots(open, at), storeSuccess(open, at)])),
        effects.succeeded(
          tx,
          open.flatMap(({ submission }) => landedOf.get(submission.id) ?? []),
        ),
      ]);
      await deps.crashPoint('settlement-uncommitted');
    }
    const settled = new Set(open.map(({ submission }) => submission.id));
    return items.map(({ submission: { id } }): SettledTogether => {
      if (settled.has(id)) return 'settled';
      return states.has(id) || !lock ? 'settled-before' : 'locked';
    });
  });
  if (!results.includes('settled')) return results;
  await deps.crashPoint('settlement-committed');
  results.forEach((result, i) => {
    const targetId = items[i]?.submission.targetId;
    if (result === 'settled' && targetId !== undefined) deps.stateSignal.notify(targetId);
  });
  // Free slots may have been waited for.
  if (deps.network.signingOrder) deps.stateSignal.notify(NEW_SUBMISSION);
  await effects.afterSucceeded();
  return results;
}

function landedIntent({ submission, conclusion }: LandedSubmission, at: Date): LandedIntent {
  return {
    intent: intentOf(submission),
    landed: { ...conclusion.landed, txHash: conclusion.attemptHash, at },
  };
}

/** The attempt that landed used the slot, so those that it replaced, or that replaced it, can't land any more. */
function decideSlots(items: readonly LandedSubmission[], at: Date): SQL {
  const landed = items.map(
    ({
      submission,
      conclusion: {
        attemptHash,
        landed: { ledger },
      },
    }) => ({
      submission_id: submission.id,
      hash: attemptHash,
      ledger: String(ledger),
    }),
  );
  return sql`${givenRows(landed, 'submission_id uuid, hash text, ledger bigint')}
    UPDATE ${attempts} a SET
      state = CASE WHEN a.hash = v.hash THEN 'LANDED' ELSE 'DEAD' END::attempt_state,
      evidence = CASE WHEN a.hash = v.hash THEN 'ledger ' || v.ledger ELSE v.hash || ' used up the slot' END,
      ledger = CASE WHEN a.hash = v.hash THEN v.ledger END,
      decided_at = ${at.toISOString()}::timestamptz
    FROM v WHERE ${isGiven('a.submission_id', 'submission_id')} AND (a.hash = v.hash OR a.state = 'OPEN')`;
}

function storeSuccess(items: readonly LandedSubmission[], at: Date): SQL {
  const outcomes = items.map(
    ({
      submission: { id },
      conclusion: {
        attemptHash,
        landed: { result },
      },
    }) => ({
      id,
      hash: attemptHash,
      result,
    }),
  );
  return sql`${givenRows(outcomes, 'id uuid, hash text, result jsonb')}
    UPDATE ${submissions} s SET state = 'SUCCEEDED', tx_hash = v.hash, result = v.result, state_reason = NULL,
      review_cause = NULL, settled_at = ${at.toISOString()}::timestamptz
    FROM v WHERE ${isGiven('s.id', 'id')}`;
}
