/**
 * Landing: the one place where transactions take effect.
 *
 *   broadcast ──▶ next batch ──▶ [ close ledger (row lock) ─ known hashes? ─ load ─ execute ─ store ] commit
 *
 * The lock on the ledger clock serialises landing over all processes. One database transaction lands a whole
 * batch, because under the lock each single commit would wait for its own disk flush. Each transaction of a
 * batch succeeds, is refused or has expired independently.
 */
import { sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Clock } from '../../../lib/clock.ts';
import type { Db, Tx } from '../../../db/connection.ts';
import { hotSelect } from '../../../db/hotQueries.ts';
import { isOneOf, inOneStatement } from '../../../db/manyRows.ts';
import { refusedByDatabase } from '../../../db/refusedByDatabase.ts';
import { NetworkRefusal } from '../port.ts';
import type { BroadcastAnswer, Refusal } from '../port.ts';
import { createBatcher, type Batcher } from '../../../lib/batches.ts';
import type { Effects } from './contracts/effects.ts';
import { execute, keysOf } from './contracts/execute.ts';
import { closeLedger } from './ledgerClock.ts';
import type { ClosedLedger } from './ledgerClock.ts';
import { events, transactions } from './tables.ts';
import type { SignedTransaction } from './signing.ts';
import type { World } from './world.ts';
import { loadState, saveOf, savesOf } from './worldStore.ts';

/** Notified, without a payload, when a ledger with events was committed. */
export const EVENTS_CHANNEL = 'embedded_network_events';

/**
 * Transactions per ledger: as many as calls are simulated and outcomes are read together, so that a batch of
 * steps is not divided here, and few enough to hold the lock for some ten milliseconds.
 */
export const MAX_TRANSACTIONS_PER_LEDGER = 200;

export interface LandingDeps {
  db: Db;
  clock: Clock;
  networkId: string;
  factoryAddress: string;
}

interface Landed {
  transaction: SignedTransaction;
  effects: Effects | null;
  refusal: Refusal | null;
}

/** Lands verified transactions. A rejected promise means that the outcome is unknown. */
export function createLander(deps: LandingDeps): Batcher<SignedTransaction, BroadcastAnswer> {
  return createBatcher({
    maxItems: MAX_TRANSACTIONS_PER_LEDGER,
    run: (batch) => deps.db.transaction((tx) => landInOneLedger(tx, deps, batch)),
    // The database refused one transaction, which must not block the others.
    dividesOn: (error) => refusedByDatabase(error) !== null,
  });
}

async function landInOneLedger(
  tx: Tx,
  deps: LandingDeps,
  batch: SignedTransaction[],
): Promise<BroadcastAnswer[]> {
  // The statements are sent without waiting for the lock, and run under it.
  const [ledger, landedBefore, createWorld] = await Promise.all([
    closeLedger(tx, deps.clock),
    knownHashes(tx, batch),
    loadState(
      tx,
      batch.map((item) => keysOf({ ...deps, source: item.transaction.source }, item.transaction.invocation)),
    ),
  ]);
  const world = createWorld();
  const landed: Landed[] = [];
  const answers = batch.map((item): BroadcastAnswer => {
    if (landedBefore.has(item.hash)) return { status: 'accepted' };
    const { validUntil } = item.transaction;
    if (ledger.closedAt > validUntil) {
      return {
        status: 'refused',
        reason: `expired: valid until ${validUntil}, ledger time ${ledger.closedAt}`,
      };
    }
    landedBefore.add(item.hash);
    landed.push(executeOne(world, deps, ledger, item));
    return { status: 'accepted' };
  });
  await store(tx, world, ledger, landed);
  return answers;
}

const selectHashes = hotSelect(
  new QueryBuilder()
    .select({ hash: transactions.hash })
    .from(transactions)
    .where(isOneOf(transactions.hash, sql.placeholder('hashes'))),
);

async function knownHashes(tx: Tx, batch: SignedTransaction[]): Promise<Set<string>> {
  const rows = await selectHashes(tx, { hashes: JSON.stringify(batch.map((item) => item.hash)) });
  return new Set(rows.map((row) => row.hash));
}

function executeOne(
  world: World,
  deps: LandingDeps,
  { closedAt }: ClosedLedger,
  transaction: SignedTransaction,
): Landed {
  const { source, invocation } = transaction.transaction;
  try {
    const effects = execute(world, { ...deps, source, closedAt }, invocation);
    return { transaction, effects, refusal: null };
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    return { transaction, effects: null, refusal: error };
  }
}

async function store(
  tx: Tx,
  world: World,
  { ledger, closedAt: timestamp }: ClosedLedger,
  landed: Landed[],
): Promise<void> {
  if (landed.length === 0) return;
  const eventRows = landed.flatMap(({ transaction: { hash: txHash }, effects }, at) =>
    (effects?.events ?? []).map((event, eventIndex) => ({
      ...event,
      id: eventId(ledger, at, eventIndex),
      ledger,
      txHash,
      timestamp,
    })),
  );
  const transactionRows = landed.map(({ transaction: { hash, signedBytes }, effects, refusal }) => ({
    hash,
    ledger,
    signedBytes,
    result: effects?.result ?? null,
    refusalReason: refusal?.reason ?? null,
    refusalMessage: refusal?.message ?? null,
  }));
  const saves = [...savesOf(world), ...saveOf(transactions, transactionRows), ...saveOf(events, eventRows)];
  const notify = eventRows.length > 0 ? sql`SELECT pg_notify(${EVENTS_CHANNEL}, '')` : undefined;
  await tx.execute(inOneStatement(saves, notify));
}

/**
 * An id numbered as on Stellar: ledger, transaction and operation in one 64-bit number, then the event's
 * index.
 */
function eventId(ledger: bigint, indexInLedger: number, eventIndex: number): string {
  const operation = (ledger << 32n) | (BigInt(indexInLedger + 1) << 12n);
  return `${String(operation).padStart(19, '0')}-${String(eventIndex).padStart(10, '0')}`;
}
