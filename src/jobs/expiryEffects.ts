/**
 * Effects of a settled markExpired: on the receipt, and on the run that asked for it.
 */
import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Clock } from '../lib/clock.ts';
import type { Tx } from '../db/connection.ts';
import { expiryItems, expiryRuns, receipts } from '../db/tables/index.ts';
import type { Effects } from '../ledger/submission/effects.ts';
import type { Logger } from '../lib/logger.ts';

export function expiryEffects(deps: { clock: Clock; log: Pick<Logger, 'info'> }): Effects {
  return {
    async succeeded(tx, { subjectId: receiptId }, { txHash, at }) {
      await tx
        .update(receipts)
        .set({
          state: 'EXPIRED',
          expiredTxHash: txHash,
          // A sweep may have seen the receipt expired before this submission was settled.
          expiredAt: sql`coalesce(${receipts.expiredAt}, ${at.toISOString()}::timestamptz)`,
        })
        .where(eq(receipts.id, receiptId));
      await decideItem(tx, receiptId, { state: 'EXPIRED', txHash, decidedAt: at });
    },
    async afterSucceeded({ subjectId: receiptId }, { txHash }) {
      deps.log.info({ receiptId, txHash }, 'receipt marked expired');
    },
    async refused(tx, { subjectId: receiptId }, refusal, at) {
      // The receipt stays active and due: the next run tries it again.
      await decideItem(tx, receiptId, { state: 'FAILED', reason: refusal.message, decidedAt: at });
      return 'REFUSED';
    },
    async needsReview(tx, { subjectId: receiptId }, reason) {
      await decideItem(tx, receiptId, {
        state: 'FAILED',
        reason: `waits for an operator: ${reason}`,
        decidedAt: deps.clock.now(),
      });
    },
    // The run does not wait for it any more; a success is recorded with the receipt.
    resumed: async () => {},
  };
}

/** Decides the receipt's item in its run, and ends the run with its last item. */
async function decideItem(
  tx: Tx,
  receiptId: string,
  values: Partial<typeof expiryItems.$inferInsert> & { decidedAt: Date },
): Promise<void> {
  const [item] = await tx
    .update(expiryItems)
    .set(values)
    .where(and(eq(expiryItems.receiptId, receiptId), eq(expiryItems.state, 'PENDING')))
    .returning({ runId: expiryItems.runId });
  if (item) await finishIfComplete(tx, item.runId, values.decidedAt);
}

/** Locks the run first: of two transactions that decide its last items at once, the second sees the first. */
export async function finishIfComplete(tx: Tx, runId: string, at: Date): Promise<void> {
  await tx.select({ id: expiryRuns.id }).from(expiryRuns).where(eq(expiryRuns.id, runId)).for('update');
  await tx
    .update(expiryRuns)
    .set({ finishedAt: at })
    .where(
      and(
        eq(expiryRuns.id, runId),
        isNotNull(expiryRuns.sweptAt),
        isNull(expiryRuns.finishedAt),
        sql`NOT EXISTS (SELECT 1 FROM ${expiryItems} i WHERE i.run_id = ${runId} AND i.state = 'PENDING')`,
      ),
    );
}
