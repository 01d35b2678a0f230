/**
 * The outcome of a transaction that was sent, or may have been sent.
 *
 *   landed                                   → succeeded or refused, permanently
 *   absent, ledger time ≤ validUntil         → pending
 *   absent, ledger time > validUntil, decided under the landing lock → dead, permanently
 *   prepared at a ledger that this network has not reached → undeterminable: its history was lost
 */
import { sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Clock } from '../../../lib/clock.ts';
import type { Db, Tx } from '../../../db/connection.ts';
import { hotSelect } from '../../../db/hotQueries.ts';
import { isOneOf } from '../../../db/manyRows.ts';
import { createBatcher, type Batcher } from '../../../lib/batches.ts';
import type { Outcome, SentTransaction, TransactionHash } from '../port.ts';
import { closeLedger, readLedgerClock, type ClosedLedger } from './ledgerClock.ts';
import { transactions } from './tables.ts';

const WITHOUT_TIME_BOUND: Outcome = {
  status: 'undeterminable',
  reason: 'Every transaction of this network has a time bound; this one names none',
};
/** Maximum hashes in one statement. */
const MAX_TRANSACTIONS_PER_READ = 200;

/** Looks up concurrent questions together. */
export function createOutcomes(db: Db, clock: Clock): Batcher<SentTransaction, Outcome> {
  return createBatcher({
    maxItems: MAX_TRANSACTIONS_PER_READ,
    run: (sent) => outcomesOf(db, clock, sent),
  });
}

async function outcomesOf(db: Db, clock: Clock, sent: readonly SentTransaction[]): Promise<Outcome[]> {
  const landed = await findLanded(
    db,
    sent.map(({ hash }) => hash),
  );
  const latest = landed.size < sent.length ? await readLedgerClock(db, clock) : null;
  const outcomes: Outcome[] = [];
  for (const one of sent) {
    const known = landed.get(one.hash) ?? (latest && outcomeOfAbsent(one, latest));
    outcomes.push(known ?? (await db.transaction((tx) => decideUnderLock(tx, clock, one))));
  }
  return outcomes;
}

/** Null if only the landing lock can decide. */
function outcomeOfAbsent(
  { validUntil, preparedAtLedger }: SentTransaction,
  latest: ClosedLedger,
): Outcome | null {
  if (validUntil === null) return WITHOUT_TIME_BOUND;
  if (preparedAtLedger > latest.ledger) {
    return {
      status: 'undeterminable',
      reason: `Prepared at ledger ${preparedAtLedger}, but the network is only at ${latest.ledger}: its history was lost`,
    };
  }
  return latest.closedAt <= validUntil ? { status: 'pending' } : null;
}

/**
 * Closes a ledger past the time bound, which makes the death permanent: every later ledger, on every
 * instance, closes later and refuses the bytes.
 */
async function decideUnderLock(
  tx: Tx,
  clock: Clock,
  { hash, validUntil }: SentTransaction,
): Promise<Outcome> {
  if (validUntil === null) return WITHOUT_TIME_BOUND;
  const { ledger, closedAt } = await closeLedger(tx, clock);
  const landed = (await findLanded(tx, [hash])).get(hash);
  if (landed) return landed;
  if (closedAt <= validUntil) return { status: 'pending' };
  return {
    status: 'dead',
    proof: `Ledger ${ledger} closed at ${closedAt}, after the transaction's last moment ${validUntil}, and ledgers 1 to ${ledger} do not hold ${hash}`,
  };
}

const { hash, ledger, result, refusalReason, refusalMessage } = transactions;
const selectLanded = hotSelect(
  new QueryBuilder()
    .select({ hash, ledger, result, refusalReason, refusalMessage })
    .from(transactions)
    .where(isOneOf(hash, sql.placeholder('hashes'))),
);

async function findLanded(
  db: Db | Tx,
  hashes: readonly TransactionHash[],
): Promise<ReadonlyMap<TransactionHash, Outcome>> {
  const rows = await selectLanded(db, { hashes: JSON.stringify(hashes) });
  return new Map(rows.map((row) => [row.hash, landedOutcome(row)]));
}

function landedOutcome(
  row: Pick<typeof transactions.$inferSelect, 'ledger' | 'result' | 'refusalReason' | 'refusalMessage'>,
): Outcome {
  if (row.result) {
    return { status: 'succeeded', ledger: row.ledger, result: row.result };
  }
  const refusal = { reason: row.refusalReason ?? 'OTHER', message: row.refusalMessage ?? '' } as const;
  return { status: 'refused', ledger: row.ledger, refusal };
}
