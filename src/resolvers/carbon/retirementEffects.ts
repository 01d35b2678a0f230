/**
 * Effects of a burn's outcome. Submission calls them in the transaction that settles the call.
 */
import { updateById } from '../../db/findByIds.ts';
import { retirements } from '../../db/tables/index.ts';
import type { FeedDependencies } from '../../feed/fillToken.ts';
import { completeHashes } from '../../feed/recordTransactions.ts';
import { NetworkUnavailable } from '../../ledger/network/port.ts';
import { returnPosting } from '../../ledger/books/postings.ts';
import type { Effects } from '../../ledger/submission/effects.ts';
import { findProjectByToken } from './findProject.ts';
import { createUnclaimedSearch, type UnclaimedRecord } from './findUnclaimedRecord.ts';
import { moveOutOfRetiring, retirementsTogether, type SettleDependencies } from './settleRetirements.ts';

export function retireEffects(deps: SettleDependencies): Effects {
  const findUnclaimedRecord = createUnclaimedSearch(deps.feed);
  return {
    landedTogether: retirementsTogether(deps),
    /** A landed burn must be neither signed again nor returned: an unclaimed record may be its record. */
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
      const retirement = await updateById(tx, retirements, intent.targetId, {
        state: 'REFUSED',
        stateReason: refusal.message,
        settledAt: at,
      });
      const { id: retirementId, buyerId, projectId, amountTonnes } = retirement;
      const id = deps.ids.next();
      const posting = returnPosting({ id, projectId, amountTonnes, retirementId, buyerId });
      await moveOutOfRetiring(tx, [posting], at);
      return 'REFUSED';
    },
    async needsReview(tx, intent, reason) {
      await updateById(tx, retirements, intent.targetId, { state: 'NEEDS_REVIEW', stateReason: reason });
    },
    async resumed(tx, intent) {
      await updateById(tx, retirements, intent.targetId, { state: 'PENDING', stateReason: null });
    },
  };
}

/**
 * Adds the record of a holder's own burn to the feed without waiting for the indexer. If this fails, the feed
 * filler's next round adds it.
 */
export function showInFeed({ feed, feedFiller }: SettleDependencies): NonNullable<Effects['afterSucceeded']> {
  return async ({ call }, { result, txHash }) => {
    if (call.kind !== 'retire' || result.kind !== 'retired') return;
    const project = await findProjectByToken(feed, call.tokenAddress);
    if (!project) return;
    const { id: projectId, tokenAddress } = project;
    feedFiller.requestFill({ projectId, tokenAddress });
    if (txHash === null) return;
    await completeHashes(feed.db, [{ tokenAddress, recordIndex: result.retirementIndex, txHash }]);
  };
}

/**
 * Null when the network does not provide the hash, no longer has it or can't be asked. The record is the
 * proof: a node without that part of its history must not keep an operator from deciding. The feed finds the
 * hash later.
 */
async function transactionOf(
  network: FeedDependencies['network'],
  tokenAddress: string,
  { index, timestamp }: UnclaimedRecord,
): Promise<string | null> {
  const wanted = [{ index, timestamp, hints: [] }];
  const hashes = await network.retirementTransactions(tokenAddress, wanted).catch((error: unknown) => {
    if (error instanceof NetworkUnavailable) return new Map<number, string>();
    throw error;
  });
  return hashes.get(index) ?? null;
}
