/**
 * Effects of a burn's outcome. Submission calls them in the transaction that settles the call.
 */
import { eq } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { retirements } from '../../db/tables/index.ts';
import type { FeedDependencies } from '../../feed/fillToken.ts';
import { completeHashes } from '../../feed/recordTransactions.ts';
import { returnPosting, settlePosting } from '../../ledger/books/postings.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import type { Effects } from '../../ledger/submission/effects.ts';
import { findProjectByToken } from './findProject.ts';
import { createUnclaimedSearch, type UnclaimedRecord } from './findUnclaimedRecord.ts';
import type { Retirement } from './findRetirement.ts';
import { retirementsTogether, type SettleDependencies } from './settleRetirements.ts';

type RetirementEffectsDependencies = SettleDependencies;

export function retireEffects(deps: RetirementEffectsDependencies): Effects {
  const findUnclaimedRecord = createUnclaimedSearch(deps.feed);
  return {
    async succeeded(tx, intent, { result, txHash, ledger, at }) {
      if (result.kind !== 'retired') throw new Error(`a retirement returned ${result.kind}`);
      const recordIndex = result.retirementIndex;
      const retirement = await update(tx, intent.targetId, {
        state: 'RETIRED',
        txHash,
        ledger,
        recordIndex,
        settledAt: at,
        refusalMessage: null,
      });
      await post(tx, settlePosting({ ...movementOf(deps, retirement), retirementId: retirement.id }), at);
    },
    landedTogether: retirementsTogether(deps),
    /** Adds the record to the feed without waiting for the indexer. If this fails, the healer's next round adds it. */
    async afterSucceeded({ call }, { result, txHash }) {
      if (call.kind !== 'retire' || result.kind !== 'retired') return;
      const project = await findProjectByToken(deps.feed, call.tokenAddress);
      if (!project) return;
      deps.healer.requestFill({ projectId: project.id, tokenAddress: project.tokenAddress });
      if (txHash !== null) {
        const { tokenAddress } = project;
        await completeHashes(deps.feed.db, [{ tokenAddress, recordIndex: result.retirementIndex, txHash }]);
      }
    },
    /** A landed burn must not be signed again, nor returned: a record that no retirement claims may be its record. */
    async findOnNetwork({ call, submissionId }) {
      if (call.kind !== 'retire') throw new Error(`retirement effects were asked about ${call.kind}`);
      const found = await findUnclaimedRecord(call, submissionId);
      return (
        found && {
          evidence:
            `Record ${found.index} of token ${call.tokenAddress} was made by custody, equals this burn and belongs to no ` +
            'retirement of this platform: this burn may have landed',
          result: { kind: 'retired', retirementIndex: found.index },
          txHash: found.txHash ?? (await transactionOf(deps.feed.network, call.tokenAddress, found)),
        }
      );
    },
    async refused(tx, intent, refusal, at) {
      const retirement = await update(tx, intent.targetId, {
        state: 'REFUSED',
        refusalMessage: refusal.message,
        settledAt: at,
      });
      const { id: retirementId, buyerId } = retirement;
      await post(tx, returnPosting({ ...movementOf(deps, retirement), retirementId, buyerId }), at);
      return 'REFUSED';
    },
    async needsReview(tx, intent, reason) {
      await update(tx, intent.targetId, { state: 'NEEDS_REVIEW', refusalMessage: reason });
    },
    async resumed(tx, intent) {
      await update(tx, intent.targetId, { state: 'PENDING', refusalMessage: null });
    },
  };
}

/** Null where the network does not provide it, or no longer. */
async function transactionOf(
  network: FeedDependencies['network'],
  tokenAddress: string,
  { index, timestamp }: UnclaimedRecord,
): Promise<string | null> {
  const hashes = await network.retirementTransactions(tokenAddress, [{ index, timestamp, hints: [] }]);
  return hashes.get(index) ?? null;
}

function movementOf(deps: RetirementEffectsDependencies, retirement: Retirement) {
  return { id: deps.ids.next(), projectId: retirement.projectId, amount: retirement.amountTonnes };
}

async function post(tx: Tx, posting: ReturnType<typeof settlePosting>, at: Date): Promise<void> {
  const [result] = await postTransfers(tx, [posting], at);
  // The hold moved exactly this amount into retiring; anything else is a defect and must not settle.
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
