/**
 * The network's word about a transaction that was sent, or may have been.
 *
 *   landed                                   → succeeded or refused, for ever
 *   absent, ledger time ≤ validUntil         → pending
 *   absent, ledger time > validUntil, decided under the landing lock → dead, for ever
 *   prepared at a ledger that this network has not reached → undeterminable: its history was lost
 */
import { eq } from 'drizzle-orm';
import type { Clock } from '../../../clock.ts';
import type { Db, Tx } from '../../../db/connection.ts';
import type { Outcome, SentTransaction, TransactionHash, UnixSeconds } from '../port.ts';
import { closeLedger, readLedgerClock } from './ledgerClock.ts';
import { transactions } from './tables.ts';

export async function outcomeOf(db: Db, clock: Clock, sent: SentTransaction): Promise<Outcome> {
  const landed = await findLanded(db, sent.hash);
  if (landed) return landed;
  const { validUntil } = sent;
  if (validUntil === null) {
    return {
      status: 'undeterminable',
      reason: 'Every transaction of this network has a time bound; this one names none',
    };
  }
  const latest = await readLedgerClock(db, clock);
  if (sent.preparedAtLedger > latest.ledger) {
    return {
      status: 'undeterminable',
      reason: `Prepared at ledger ${sent.preparedAtLedger}, but the network is only at ${latest.ledger}: its history was lost`,
    };
  }
  if (latest.closedAt <= validUntil) return { status: 'pending' };
  return db.transaction((tx) => decideUnderLock(tx, clock, sent.hash, validUntil));
}

/**
 * Closing a ledger past the time bound makes the death permanent: from here on every ledger closes later,
 * on every instance, so the bytes are refused whenever they come.
 */
async function decideUnderLock(
  tx: Tx,
  clock: Clock,
  hash: TransactionHash,
  validUntil: UnixSeconds,
): Promise<Outcome> {
  const { ledger, closedAt } = await closeLedger(tx, clock);
  const landed = await findLanded(tx, hash);
  if (landed) return landed;
  if (closedAt <= validUntil) return { status: 'pending' };
  return {
    status: 'dead',
    proof: `Ledger ${ledger} closed at ${closedAt}, after the transaction's last moment ${validUntil}, and ledgers 1 to ${ledger} do not hold ${hash}`,
  };
}

async function findLanded(db: Db | Tx, hash: TransactionHash): Promise<Outcome | null> {
  const [row] = await db.select().from(transactions).where(eq(transactions.hash, hash));
  if (!row) return null;
  if (row.result) {
    return { status: 'succeeded', ledger: row.ledger, closedAt: row.closedAt, result: row.result };
  }
  const refusal = { reason: row.refusalReason ?? 'OTHER', message: row.refusalMessage ?? '' } as const;
  return { status: 'refused', ledger: row.ledger, refusal };
}
