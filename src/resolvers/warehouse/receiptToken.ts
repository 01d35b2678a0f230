/**
 * How a receipt stores its token's deploy and mint.
 */
import { updateById } from '../../db/findByIds.ts';
import { receipts } from '../../db/tables/index.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import { toBaseUnits } from '../../ledger/units.ts';
import type { AssetToken } from '../core/tokenEffects.ts';

export function receiptToken({ network }: { network: Pick<LedgerNetwork, 'totalSupply'> }): AssetToken {
  return {
    targetType: 'RECEIPT',
    async setState(tx, id, state, stateReason) {
      await updateById(tx, receipts, id, { state, stateReason });
    },
    async deployed(tx, id, tokenAddress) {
      const { farmerAddress, quantityKg } = await updateById(tx, receipts, id, {
        tokenAddress,
        state: 'MINTING',
        stateReason: null,
      });
      return { to: farmerAddress, amount: toBaseUnits(quantityKg) };
    },
    async minted(tx, id, activatedAt) {
      await updateById(tx, receipts, id, { state: 'ACTIVE', activatedAt, stateReason: null });
    },
    // No receipt's token is ever burned.
    readMinted: (tokenAddress) => network.totalSupply(tokenAddress),
  };
}
