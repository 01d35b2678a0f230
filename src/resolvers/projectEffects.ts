/**
 * What the two network calls of a project mean once the network has decided them. Called by submission,
 * inside the transaction that settles the call.
 */
import { eq } from 'drizzle-orm';
import type { Clock, IdSource } from '../clock.ts';
import type { Tx } from '../db/connection.ts';
import { projects } from '../db/schema/index.ts';
import { issuePosting } from '../ledger/books/postings.ts';
import { postTransfers } from '../ledger/books/postTransfers.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import type { Effects, Intent } from '../ledger/submission/effects.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import { toBaseUnits } from '../ledger/units.ts';

interface ProjectEffectsDependencies {
  network: LedgerNetwork;
  treasuryAddress: string;
  clock: Clock;
  ids: IdSource;
}

export function deployEffects(deps: ProjectEffectsDependencies): Effects {
  return {
    reasonForReview: (intent) => reasonAgainstDeploy(deps.network, intent),
    async succeeded(tx, intent, { result }) {
      if (result.kind !== 'deployed') throw new Error(`a deploy returned ${result.kind}`);
      const tokenAddress = result.contractAddress;
      const [project] = await tx
        .update(projects)
        .set({ tokenAddress, state: 'MINTING' })
        .where(eq(projects.id, intent.subjectId))
        .returning();
      if (!project) throw new Error(`project ${intent.subjectId} has vanished`);
      await enqueueSubmission(tx, deps, {
        subjectId: project.id,
        call: {
          kind: 'mint',
          tokenAddress,
          to: deps.treasuryAddress,
          amount: toBaseUnits(project.quantityTonnes),
        },
      });
    },
    async refused(tx, intent, refusal) {
      // A used salt means that this asset was deployed before, by us: nothing that a program should wave through.
      const state = refusal.reason === 'SALT_ALREADY_USED' ? 'NEEDS_REVIEW' : 'REFUSED';
      await setState(tx, intent.subjectId, state, refusal.message);
      return state;
    },
    needsReview: (tx, intent, reason) => setState(tx, intent.subjectId, 'NEEDS_REVIEW', reason),
    resumed: (tx, intent) => setState(tx, intent.subjectId, 'DEPLOYING', null),
  };
}

export function mintEffects(deps: ProjectEffectsDependencies): Effects {
  return {
    /** A token that has, or ever had, a supply must not get its quantity a second time. */
    async reasonForReview({ call }) {
      if (call.kind !== 'mint') throw new Error(`mint effects were asked about ${call.kind}`);
      const { totalSupply, totalRetired } = await deps.network.carbonTotals(call.tokenAddress);
      if (totalSupply === 0n && totalRetired === 0n) return null;
      return `token ${call.tokenAddress} already has a supply of ${totalSupply} and ${totalRetired} retired base units`;
    },
    async succeeded(tx, intent, { at }) {
      const [project] = await tx
        .update(projects)
        .set({ state: 'OPEN', openedAt: at, refusalMessage: null })
        .where(eq(projects.id, intent.subjectId))
        .returning();
      if (!project) throw new Error(`project ${intent.subjectId} has vanished`);
      const posting = issuePosting({
        id: deps.ids.next(),
        projectId: project.id,
        amount: project.quantityTonnes,
      });
      await postTransfers(tx, [posting], at);
    },
    async refused(tx, intent, refusal) {
      // The token is there, without its credits: only an operator can tell what stands in the way.
      await setState(tx, intent.subjectId, 'NEEDS_REVIEW', refusal.message);
      return 'NEEDS_REVIEW';
    },
    needsReview: (tx, intent, reason) => setState(tx, intent.subjectId, 'NEEDS_REVIEW', reason),
    resumed: (tx, intent) => setState(tx, intent.subjectId, 'MINTING', null),
  };
}

/**
 * One token for each asset, also where no salt makes the factory refuse a second one: what was deployed and is not
 * known here (the database is an old copy) is for people to look at.
 */
export async function reasonAgainstDeploy(
  network: Pick<LedgerNetwork, 'findToken' | 'predictTokenAddress'>,
  { call }: Intent,
): Promise<string | null> {
  if (call.kind !== 'deployCarbonCredit' && call.kind !== 'deployCommodityReceipt') {
    throw new Error(`deploy effects were asked about ${call.kind}`);
  }
  if (network.predictTokenAddress(call.salt) !== null) return null;
  const tokenAddress = await network.findToken(call);
  return tokenAddress && `asset ${call.assetId} has the token ${tokenAddress} already`;
}

async function setState(
  tx: Tx,
  projectId: string,
  state: (typeof projects.state.enumValues)[number],
  refusalMessage: string | null,
): Promise<void> {
  await tx.update(projects).set({ state, refusalMessage }).where(eq(projects.id, projectId));
}
