/**
 * What a receipt stores of its token's deploy and mint.
 */
import { eq } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { receipts } from '../../db/tables/index.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import { toBaseUnits } from '../../ledger/units.ts';
import type { AssetToken } from '../core/tokenEffects.ts';
import type { Receipt } from './findReceipt.ts';

export function receiptToken({ network }: { network: Pick<LedgerNetwork, 'totalSupply'> }): AssetToken {
  return {
    targetType: 'RECEIPT',
    async setState(tx, id, state, stateReason) {
      await update(tx, id, { state, stateReason });
    },
    async deployed(tx, id, { tokenAddress, txHash }) {
      const { farmerAddress, quantityKg } = await update(tx, id, {
        tokenAddress,
        deployTxHash: txHash,
        state: 'MINTING',
        stateReason: null,
      });
      return { to: farmerAddress, amount: toBaseUnits(quantityKg) };
    },
    async minted(tx, id, { txHash, at }) {
      await update(tx, id, { state: 'ACTIVE', mintTxHash: txHash, activatedAt: at, stateReason: null });
    },
    // No receipt's token is ever burned.
    readMinted: (tokenAddress) => network.totalSupply(tokenAddress),
  };
}

async function update(tx: Tx, id: string, values: Partial<typeof receipts.$inferInsert>): Promise<Receipt> {
  const [receipt] = await tx.update(receipts).set(values).where(eq(receipts.id, id)).returning();
  if (!receipt) throw new Error(`receipt ${id} has vanished`);
  return receipt;
}
