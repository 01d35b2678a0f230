/**
 * Settles many landed calls of one kind in one transaction. Each has its own outcome; when the effect of one
 * can't be written, the transaction writes nothing, and the caller divides the batch (stepStore.ts).
 */
import type { LandedIntent, LandedTogether } from './effects.ts';
import { lockSubmissions, type SkipLocked } from './lockSubmissions.ts';
import { isSettled } from './rules.ts';
import { intentOf, recordLanded, type LandedConclusion, type Submission } from './settle.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

export interface LandedSubmission {
  submission: Submission;
  conclusion: LandedConclusion;
}

/** `locked` when another transaction has locked the submission, and SkipLocked was given. */
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
    const locked = await lockSubmissions(tx, [...landedOf.keys()], lock);
    const open = items.filter(({ submission: { id } }) => {
      const state = locked.get(id)?.state;
      return state !== undefined && !isSettled(state);
    });
    if (open.length > 0) {
      await Promise.all([
        recordLanded(tx, open, at),
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
      return locked.has(id) || !lock ? 'settled-before' : 'locked';
    });
  });
  if (!results.includes('settled')) return results;
  await deps.crashPoint('settlement-committed');
  results.forEach((result, i) => {
    const targetId = items[i]?.submission.targetId;
    if (result === 'settled' && targetId !== undefined) deps.stateSignal.notify(targetId);
  });
  // Other submissions may wait for the freed slots.
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
