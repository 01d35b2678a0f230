/**
 * What the network's word about a burn means. Called by submission, inside the transaction that settles it.
 */
import { eq } from 'drizzle-orm';
import type { IdSource } from '../clock.ts';
import type { Tx } from '../db/connection.ts';
import { retirements } from '../db/schema/index.ts';
import { completeHash, type FeedDependencies } from '../feed/fillToken.ts';
import type { Healer } from '../feed/healer.ts';
import { returnPosting, settlePosting } from '../ledger/books/postings.ts';
import { postTransfers } from '../ledger/books/postTransfers.ts';
import type { Effects } from '../ledger/submission/effects.ts';
import { findProjectByToken } from './findProject.ts';
import { findUnclaimedRecord } from './findUnclaimedRecord.ts';
import type { Retirement } from './findRetirement.ts';

interface RetirementEffectsDependencies {
  ids: IdSource;
  feed: FeedDependencies;
  healer: Pick<Healer, 'nudge'>;
}

export function retireEffects(deps: RetirementEffectsDependencies): Effects {
  return {
    async succeeded(tx, intent, { result, txHash, ledger, at }) {
      if (result.kind !== 'retired') throw new Error(`a retirement returned ${result.kind}`);
      const recordIndex = result.retirementIndex;
      const retirement = await update(tx, intent.subjectId, {
        state: 'RETIRED',
        txHash,
        ledger,
        recordIndex,
        settledAt: at,
        refusalMessage: null,
      });
      await post(tx, settlePosting({ ...movementOf(deps, retirement), retirementId: retirement.id }), at);
    },
    /** Shows the record in the feed without waiting for the indexer; the healer's rounds do it otherwise. */
    async afterSucceeded({ call }, { result, txHash }) {
      if (call.kind !== 'retire' || result.kind !== 'retired') return;
      const project = await findProjectByToken(deps.feed, call.tokenAddress);
      if (!project) return;
      deps.healer.nudge({ projectId: project.id, tokenAddress: project.tokenAddress });
      await completeHash(deps.feed.db, project.tokenAddress, result.retirementIndex, txHash);
    },
    /** Credits that were burned must not be returned: a record of custody's that nobody claims may be this one. */
    async reasonAgainstGivingUp({ call }) {
      if (call.kind !== 'retire') throw new Error(`retirement effects were asked about ${call.kind}`);
      const index = await findUnclaimedRecord(deps.feed, call);
      return index === null
        ? null
        : `Record ${index} of token ${call.tokenAddress} was made by custody, is the same and belongs to no retirement ` +
            'here: this one may have landed. Its credits are not returned before that is cleared up.';
    },
    async refused(tx, intent, refusal, at) {
      const retirement = await update(tx, intent.subjectId, {
        state: 'REFUSED',
        refusalMessage: refusal.message,
        settledAt: at,
      });
      const { id: retirementId, buyerId } = retirement;
      await post(tx, returnPosting({ ...movementOf(deps, retirement), retirementId, buyerId }), at);
      return 'REFUSED';
    },
    async needsReview(tx, intent, reason) {
      await update(tx, intent.subjectId, { state: 'NEEDS_REVIEW', refusalMessage: reason });
    },
    async resumed(tx, intent) {
      await update(tx, intent.subjectId, { state: 'PENDING', refusalMessage: null });
    },
  };
}

function movementOf(deps: RetirementEffectsDependencies, retirement: Retirement) {
  return { id: deps.ids.next(), projectId: retirement.projectId, amount: retirement.amountTonnes };
}

async function post(tx: Tx, posting: ReturnType<typeof settlePosting>, at: Date): Promise<void> {
  const [result] = await postTransfers(tx, [posting], at);
  // The hold put exactly this amount there; anything else is a defect that must not settle.
  if (!result?.ok)
    throw new Error(`retirement ${posting.referenceId} has no hold of ${posting.amount} tonnes`);
}

async function update(
  tx: Tx,
  id: string,
  values: Partial<typeof retirements.$inferInsert>,
): Promise<Retirement> {
  const [retirement] = await tx.update(retirements).set(values).where(eq(retirements.id, id)).returning();
  if (!retirement) throw new Error(`retirement ${id} has vanished`);
  return retirement;
}
