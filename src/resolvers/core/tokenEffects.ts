/**
 * Effects of the two calls that make an asset's token, the deploy and then the mint, for both projects and
 * receipts. Submission calls them in the transaction that settles the call.
 */
import type { Tx } from '../../db/connection.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import type { Effects, FoundOnNetwork, Intent } from '../../ledger/submission/effects.ts';
import { enqueueSubmission } from '../../ledger/submission/enqueue.ts';
import type { Clock, IdSource } from '../../lib/clock.ts';
import { deployEffects } from './deployEffects.ts';

/** How one kind of asset stores the outcome of its token's deploy and mint. */
export interface AssetToken {
  targetType: 'PROJECT' | 'RECEIPT';
  setState(
    tx: Tx,
    id: string,
    state: 'DEPLOYING' | 'MINTING' | 'REFUSED' | 'NEEDS_REVIEW',
    stateReason: string | null,
  ): Promise<void>;
  /**
   * Stores the token and sets the state MINTING. @returns what to mint, in base units, and to which address
   */
  deployed(tx: Tx, id: string, tokenAddress: string): Promise<{ to: string; amount: bigint }>;
  minted(tx: Tx, id: string, at: Date): Promise<void>;
  /** Total ever minted, in base units, including tokens burned since. @throws NetworkUnavailable */
  readMinted(tokenAddress: string): Promise<bigint>;
}

interface TokenDependencies {
  network: Pick<LedgerNetwork, 'findToken'>;
  clock: Clock;
  ids: IdSource;
}

export function tokenDeployEffects(deps: TokenDependencies, asset: AssetToken): Effects {
  const { targetType } = asset;
  return {
    ...deployEffects({
      setState: asset.setState,
      async deployed(tx, targetId, tokenAddress) {
        const { to, amount } = await asset.deployed(tx, targetId, tokenAddress);
        const call = { kind: 'mint', tokenAddress, to, amount } as const;
        await enqueueSubmission(tx, deps, { targetType, targetId, call });
      },
    }),
    findOnNetwork: (intent) => findDeployed(deps.network, intent),
  };
}

/**
 * Finds an asset's token that this database does not know, for example after a restore from an old backup.
 * Some factories do not refuse a second token for the same salt, so an operator decides before another one is
 * deployed.
 */
async function findDeployed(
  network: TokenDependencies['network'],
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

export function mintEffects(asset: AssetToken): Effects {
  return {
    /** Finds an earlier mint: a token that was ever minted must not get its quantity a second time. */
    async findOnNetwork({ call }) {
      if (call.kind !== 'mint') throw new Error(`mint effects were asked about ${call.kind}`);
      const minted = await asset.readMinted(call.tokenAddress);
      if (minted === 0n) return null;
      return {
        evidence: `${minted} base units of token ${call.tokenAddress} are minted already`,
        result: minted === call.amount ? { kind: 'done' } : null,
      };
    },
    succeeded: (tx, { targetId }, { at }) => asset.minted(tx, targetId, at),
    async refused(tx, { targetId }, refusal) {
      // The token is deployed without its quantity: an operator must find out why the mint was refused.
      await asset.setState(tx, targetId, 'NEEDS_REVIEW', refusal.message);
      return 'NEEDS_REVIEW';
    },
    needsReview: (tx, { targetId }, reason) => asset.setState(tx, targetId, 'NEEDS_REVIEW', reason),
    resumed: (tx, { targetId }) => asset.setState(tx, targetId, 'MINTING', null),
  };
}
