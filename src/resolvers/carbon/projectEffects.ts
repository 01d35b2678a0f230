/**
 * Effects of a project's two network calls, the deploy and the mint. Submission calls them in the transaction that
 * settles the call.
 */
import { eq } from 'drizzle-orm';
import type { Clock, IdSource } from '../../lib/clock.ts';
import type { Tx } from '../../db/connection.ts';
import { projects } from '../../db/tables/index.ts';
import { issuePosting } from '../../ledger/books/postings.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import type { Effects, FoundOnNetwork, Intent } from '../../ledger/submission/effects.ts';
import { enqueueSubmission } from '../../ledger/submission/enqueue.ts';
import { toBaseUnits } from '../../ledger/units.ts';
import { stateOfRefusedDeploy } from '../core/refusedDeploy.ts';

interface ProjectEffectsDependencies {
  network: LedgerNetwork;
  treasuryAddress: string;
  clock: Clock;
  ids: IdSource;
}

export function deployEffects(deps: ProjectEffectsDependencies): Effects {
  return {
    findOnNetwork: (intent) => findDeployed(deps.network, intent),
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
        subjectType: 'PROJECT',
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
      const state = stateOfRefusedDeploy(refusal);
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
    async findOnNetwork({ call }) {
      if (call.kind !== 'mint') throw new Error(`mint effects were asked about ${call.kind}`);
      const { totalSupply, totalRetired } = await deps.network.carbonTotals(call.tokenAddress);
      if (totalSupply === 0n && totalRetired === 0n) return null;
      return {
        evidence: `token ${call.tokenAddress} already has a supply of ${totalSupply} and ${totalRetired} retired base units`,
        result: totalSupply + totalRetired === call.amount ? { kind: 'done' } : null,
      };
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
      // The token is deployed without its credits: an operator must find out why the mint was refused.
      await setState(tx, intent.subjectId, 'NEEDS_REVIEW', refusal.message);
      return 'NEEDS_REVIEW';
    },
    needsReview: (tx, intent, reason) => setState(tx, intent.subjectId, 'NEEDS_REVIEW', reason),
    resumed: (tx, intent) => setState(tx, intent.subjectId, 'MINTING', null),
  };
}

/**
 * Finds an asset's token that this database does not know, as after a restore from an old copy: some factories do not
 * refuse a second token for the same salt, so an operator decides before another one is deployed.
 */
export async function findDeployed(
  network: Pick<LedgerNetwork, 'findToken'>,
  { call }: Intent,
): Promise<FoundOnNetwork | null> {
  if (call.kind !== 'deployCarbonCredit' && call.kind !== 'deployCommodityReceipt') {
    throw new Error(`deploy effects were asked about ${call.kind}`);
  }
  const contractAddress = await network.findToken(call);
  if (contractAddress === null) return null;
  return {
    evidence: `asset ${call.assetId} has the token ${contractAddress} already`,
    result: { kind: 'deployed', contractAddress },
  };
}

async function setState(
  tx: Tx,
  projectId: string,
  state: (typeof projects.state.enumValues)[number],
  refusalMessage: string | null,
): Promise<void> {
  await tx.update(projects).set({ state, refusalMessage }).where(eq(projects.id, projectId));
}
