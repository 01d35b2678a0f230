/**
 * Effects of a receipt's deploy and mint. Submission calls them in the transaction that settles the call.
 */
import { eq } from 'drizzle-orm';
import type { Clock, IdSource } from '../../lib/clock.ts';
import type { Db, Tx } from '../../db/connection.ts';
import { receipts } from '../../db/tables/index.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import type { Effects } from '../../ledger/submission/effects.ts';
import { enqueueSubmission } from '../../ledger/submission/enqueue.ts';
import { toBaseUnits } from '../../ledger/units.ts';
import type { Receipt } from './findReceipt.ts';
import { findDeployed } from '../carbon/projectEffects.ts';
import { stateOfRefusedDeploy } from '../core/refusedDeploy.ts';

interface ReceiptEffectsDependencies {
  db: Db;
  network: LedgerNetwork;
  clock: Clock;
  ids: IdSource;
}

export function deployReceiptEffects(deps: ReceiptEffectsDependencies): Effects {
  return {
    findOnNetwork: (intent) => findDeployed(deps.network, intent),
    async succeeded(tx, intent, { result, txHash }) {
      if (result.kind !== 'deployed') throw new Error(`a deploy returned ${result.kind}`);
      const tokenAddress = result.contractAddress;
      const receipt = await update(tx, intent.subjectId, {
        tokenAddress,
        deployTxHash: txHash,
        state: 'MINTING',
        refusalMessage: null,
      });
      await enqueueSubmission(tx, deps, {
        subjectType: 'RECEIPT',
        subjectId: receipt.id,
        call: {
          kind: 'mint',
          tokenAddress,
          to: receipt.farmerAddress,
          amount: toBaseUnits(receipt.quantityKg),
        },
      });
    },
    async refused(tx, intent, refusal) {
      const state = stateOfRefusedDeploy(refusal);
      await update(tx, intent.subjectId, { state, refusalMessage: refusal.message });
      return state;
    },
    ...reviewEffects('DEPLOYING'),
  };
}

export function mintReceiptEffects(deps: ReceiptEffectsDependencies): Effects {
  return {
    /** A receipt that has a supply must not get its kilograms a second time. */
    async findOnNetwork({ call }) {
      if (call.kind !== 'mint') throw new Error(`mint effects were asked about ${call.kind}`);
      const totalSupply = await deps.network.totalSupply(call.tokenAddress);
      if (totalSupply === 0n) return null;
      return {
        evidence: `token ${call.tokenAddress} already has a supply of ${totalSupply} base units`,
        result: totalSupply === call.amount ? { kind: 'done' } : null,
      };
    },
    async succeeded(tx, intent, { txHash, at }) {
      await update(tx, intent.subjectId, {
        state: 'ACTIVE',
        mintTxHash: txHash,
        activatedAt: at,
        refusalMessage: null,
      });
    },
    async refused(tx, intent, refusal) {
      // The token is deployed without its kilograms: an operator must find out why the mint was refused.
      await update(tx, intent.subjectId, { state: 'NEEDS_REVIEW', refusalMessage: refusal.message });
      return 'NEEDS_REVIEW';
    },
    ...reviewEffects('MINTING'),
  };
}

function reviewEffects(stateWhenResumed: 'DEPLOYING' | 'MINTING'): Pick<Effects, 'needsReview' | 'resumed'> {
  return {
    async needsReview(tx, intent, reason) {
      await update(tx, intent.subjectId, { state: 'NEEDS_REVIEW', refusalMessage: reason });
    },
    async resumed(tx, intent) {
      await update(tx, intent.subjectId, { state: stateWhenResumed, refusalMessage: null });
    },
  };
}

async function update(
  tx: Tx,
  receiptId: string,
  values: Partial<typeof receipts.$inferInsert>,
): Promise<Receipt> {
  const [receipt] = await tx.update(receipts).set(values).where(eq(receipts.id, receiptId)).returning();
  if (!receipt) throw new Error(`receipt ${receiptId} has vanished`);
  return receipt;
}
