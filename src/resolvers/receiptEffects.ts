/**
 * What the network calls of a receipt's beginning mean once the network has decided them. Called by submission,
 * inside the transaction that settles the call.
 */
import { eq } from 'drizzle-orm';
import type { Clock, IdSource } from '../clock.ts';
import type { Db, Tx } from '../db/connection.ts';
import { receipts } from '../db/schema/index.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import type { Effects } from '../ledger/submission/effects.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import { toBaseUnits } from '../ledger/units.ts';
import type { Receipt } from './findReceipt.ts';
import { reasonAgainstDeploy } from './projectEffects.ts';

interface ReceiptEffectsDependencies {
  db: Db;
  network: LedgerNetwork;
  clock: Clock;
  ids: IdSource;
}

export function deployReceiptEffects(deps: ReceiptEffectsDependencies): Effects {
  return {
    reasonForReview: (intent) => reasonAgainstDeploy(deps.network, intent),
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
      // A used salt means that this receipt was deployed before, by us: nothing that a program should wave through.
      const state = refusal.reason === 'SALT_ALREADY_USED' ? 'NEEDS_REVIEW' : 'REFUSED';
      await update(tx, intent.subjectId, { state, refusalMessage: refusal.message });
      return state;
    },
    ...reviewEffects('DEPLOYING'),
  };
}

export function mintReceiptEffects(deps: ReceiptEffectsDependencies): Effects {
  return {
    /** A receipt that has a supply must not get its kilograms a second time. */
    async reasonForReview({ call }) {
      if (call.kind !== 'mint') throw new Error(`mint effects were asked about ${call.kind}`);
      const totalSupply = await deps.network.totalSupply(call.tokenAddress);
      return totalSupply === 0n
        ? null
        : `token ${call.tokenAddress} already has a supply of ${totalSupply} base units`;
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
      // The token is there, without its shares: only an operator can tell what stands in the way.
      await update(tx, intent.subjectId, { state: 'NEEDS_REVIEW', refusalMessage: refusal.message });
      return 'NEEDS_REVIEW';
    },
    ...reviewEffects('MINTING'),
  };
}

/** Projects and receipts are minted by the same call: the intent's subject tells whose it is. */
export function mintEffectsBySubject(
  deps: Pick<ReceiptEffectsDependencies, 'db'>,
  effects: { ofProject: Effects; ofReceipt: Effects },
): Effects {
  const choose = async (db: Pick<Db, 'select'>, receiptId: string) => {
    const rows = await db.select({ id: receipts.id }).from(receipts).where(eq(receipts.id, receiptId));
    return rows.length > 0 ? effects.ofReceipt : effects.ofProject;
  };
  return {
    async reasonForReview(intent) {
      const chosen = await choose(deps.db, intent.subjectId);
      return (await chosen.reasonForReview?.(intent)) ?? null;
    },
    succeeded: async (tx, intent, landed) =>
      (await choose(tx, intent.subjectId)).succeeded(tx, intent, landed),
    async afterSucceeded(intent, landed) {
      await (await choose(deps.db, intent.subjectId)).afterSucceeded?.(intent, landed);
    },
    refused: async (tx, intent, refusal, at) =>
      (await choose(tx, intent.subjectId)).refused(tx, intent, refusal, at),
    needsReview: async (tx, intent, reason) =>
      (await choose(tx, intent.subjectId)).needsReview(tx, intent, reason),
    resumed: async (tx, intent) => (await choose(tx, intent.subjectId)).resumed(tx, intent),
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
