/**
 * How a project stores its token's deploy and mint. The credits enter the books when the mint is final.
 */
import { updateById } from '../../db/findByIds.ts';
import { projects } from '../../db/tables/index.ts';
import { issuePosting } from '../../ledger/books/postings.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import { toBaseUnits } from '../../ledger/units.ts';
import type { IdSource } from '../../lib/clock.ts';
import type { AssetToken } from '../core/tokenEffects.ts';

interface ProjectTokenDependencies {
  network: Pick<LedgerNetwork, 'carbonTotals' | 'custodyAddress'>;
  ids: IdSource;
}

export function projectToken({ network, ids }: ProjectTokenDependencies): AssetToken {
  return {
    targetType: 'PROJECT',
    async setState(tx, id, state, stateReason) {
      await updateById(tx, projects, id, { state, stateReason });
    },
    async deployed(tx, id, tokenAddress) {
      const project = await updateById(tx, projects, id, {
        tokenAddress,
        state: 'MINTING',
        stateReason: null,
      });
      // The custody signer burns from its own balance, so that is where credits are minted to.
      return { to: network.custodyAddress, amount: toBaseUnits(project.quantityTonnes) };
    },
    async minted(tx, projectId, at) {
      const project = await updateById(tx, projects, projectId, {
        state: 'OPEN',
        openedAt: at,
        stateReason: null,
      });
      const posting = issuePosting({ id: ids.next(), projectId, amountTonnes: project.quantityTonnes });
      await postTransfers(tx, [posting], at);
    },
    async readMinted(tokenAddress) {
      const { totalSupply, totalRetired } = await network.carbonTotals(tokenAddress);
      return totalSupply + totalRetired;
    },
  };
}
