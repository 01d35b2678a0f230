/**
 * Effects of a settled markExpired on the receipt, and on the run that asked for it.
 */
import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Clock } from '../lib/clock.ts';
import type { Tx } from '../db/connection.ts';
import { givenRows } from '../db/manyRows.ts';
import { expiryItems, expiryRuns, receipts } from '../db/tables/index.ts';
import type { Effects, LandedIntent } from '../ledger/submission/effects.ts';
import type { Logger } from '../lib/logger.ts';

export function expiryEffects(deps: { clock: Clock; log: Pick<Logger, 'info'> }): Effects {
  const logExpired = ({ intent: { targetId: receiptId }, landed: { txHash } }: LandedIntent) =>
    deps.log.info({ receiptId, txHash }, 'receipt marked expired');
  return {
    landedTogether: async (all) => ({
      succeeded: expire,
      afterSucceeded: () => all.forEach(logExpired),
    }),
    async refused(tx, { targetId: receiptId }, refusal, at) {
      // The receipt stays active and due: the next run tries it again.
      await decideItem(tx, receiptId, { state: 'FAILED', message: refusal.message, decidedAt: at });
      return 'REFUSED';
    },
    async needsReview(tx, { targetId: receiptId }, reason) {
      await decideItem(tx, receiptId, {
        state: 'FAILED',
        message: `waits for an operator: ${reason}`,
        decidedAt: deps.clock.now(),
      });
    },
    // The run does not wait for a resumed submission any more; its success is recorded with the receipt.
    resumed: async () => {},
  };
}

/** Marks receipts and their items, and ends the runs whose last items these are. */
async function expire(tx: Tx, all: readonly LandedIntent[]): Promise<void> {
  const [first] = all;
  if (first === undefined) return;
  const landed = givenRows(
    all.map(({ intent: { targetId }, landed: { txHash, at } }) => ({ id: targetId, tx_hash: txHash, at })),
    'id uuid, tx_hash text, at timestamptz',
  );
  // Receipts are locked before their items, and in the same order, as in a sweep; otherwise the two could
  // deadlock. expired_at is kept because a sweep may have seen the receipt expired before this submission was
  // settled.
  const decided = await tx.execute<{ run_id: string }>(sql`${landed}, locked AS MATERIALIZED (
      SELECT id FROM ${receipts} WHERE id = ANY (ARRAY(SELECT id FROM v)) ORDER BY id FOR NO KEY UPDATE),
    expired AS (
      UPDATE ${receipts} r SET state = 'EXPIRED', expired_tx_hash = v.tx_hash, expired_at = coalesce(r.expired_at, v.at)
      FROM v WHERE r.id = v.id AND r.id = ANY (ARRAY(SELECT id FROM locked)) RETURNING r.id)
    UPDATE ${expiryItems} i SET state = 'EXPIRED', decided_at = v.at
    FROM v WHERE i.receipt_id = v.id AND i.receipt_id = ANY (ARRAY(SELECT id FROM expired)) AND i.state = 'PENDING'
    RETURNING i.run_id`);
  // In the same order everywhere, so that transactions that end the same runs can't deadlock.
  for (const runId of [...new Set(decided.map(({ run_id }) => run_id))].sort())
    await finishIfComplete(tx, runId, first.landed.at);
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
    // The state is a constant: a cached plan can't match a parameter to the condition of the index.
    .where(and(eq(expiryItems.receiptId, receiptId), sql`${expiryItems.state} = 'PENDING'`))
    .returning({ runId: expiryItems.runId });
  if (item) await finishIfComplete(tx, item.runId, values.decidedAt);
}

/**
 * Locks the run first: of two transactions that decide its last items at once, the second sees the first. The
 * lock lets a sweep add items to the run, whose reference to the run locks its key; otherwise each page of the
 * sweep and each settlement would wait for the other's transaction.
 */
export async function finishIfComplete(tx: Tx, runId: string, at: Date): Promise<void> {
  await tx
    .select({ id: expiryRuns.id })
    .from(expiryRuns)
    .where(eq(expiryRuns.id, runId))
    .for('no key update');
  await tx
    .update(expiryRuns)
    .set({ endedAt: at })
    .where(
      and(
        eq(expiryRuns.id, runId),
        isNotNull(expiryRuns.sweptAt),
        isNull(expiryRuns.endedAt),
        sql`NOT EXISTS (SELECT 1 FROM ${expiryItems} i WHERE i.run_id = ${runId} AND i.decided_at IS NULL)`,
      ),
    );
}
