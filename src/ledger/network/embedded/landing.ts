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
import { insertionOf, isOneOf, inOneStatement } from '../../../db/manyRows.ts';
import { refusedByDatabase } from '../../../db/refusedByDatabase.ts';
import { NetworkRefusal } from '../port.ts';
import type { BroadcastAnswer, Refusal } from '../port.ts';
import { innermostMessage } from '../../../lib/errors.ts';
import { createBatcher, type Batcher } from '../../../lib/batches.ts';
import type { Context, ContractEvent, Effects } from './contracts/effects.ts';
import { execute, keysOf } from './contracts/execute.ts';
import { closeLedger } from './ledgerClock.ts';
import type { ClosedLedger } from './ledgerClock.ts';
import { events, transactions } from './tables.ts';
import type { SignedTransaction } from './signing.ts';
import type { World } from './world.ts';
import { loadState, savesOf } from './worldStore.ts';

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

type Landed = { transaction: SignedTransaction } & (
  { effects: Effects; refusal: null } | { effects: null; refusal: Refusal }
);

/** Lands verified transactions. A rejected promise means that the outcome is unknown. */
export function createLander(deps: LandingDeps): Batcher<SignedTransaction, BroadcastAnswer> {
  return createBatcher({
    maxItems: MAX_TRANSACTIONS_PER_LEDGER,
    run: (batch) => deps.db.transaction((tx) => landInOneLedger(tx, deps, batch)),
    // The database refused one transaction, which must not block the others.
    dividesOn: (error) => refusedByDatabase(error) !== null,
  });
}

export function unknownAnswer(cause: unknown): BroadcastAnswer {
  return { status: 'unknown', reason: innermostMessage(cause) };
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

function executeOne(world: World, deps: LandingDeps, ledger: ClosedLedger, item: SignedTransaction): Landed {
  const context: Context = {
    networkId: deps.networkId,
    factoryAddress: deps.factoryAddress,
    source: item.transaction.source,
    closedAt: ledger.closedAt,
  };
  try {
    return {
      transaction: item,
      effects: execute(world, context, item.transaction.invocation),
      refusal: null,
    };
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    return { transaction: item, effects: null, refusal: { reason: error.reason, message: error.message } };
  }
}

async function store(tx: Tx, world: World, ledger: ClosedLedger, landed: Landed[]): Promise<void> {
  if (landed.length === 0) return;
  const eventRows = landed.flatMap(({ transaction, effects }, at) =>
    (effects?.events ?? []).map((event, eventIndex) => eventRow(ledger, transaction, event, at, eventIndex)),
  );
  const transactionRows = landed.map((one) => transactionRow(ledger.ledger, one));
  const saves = [...savesOf(world), insertionOf(transactions, transactionRows)];
  const all =
    eventRows.length === 0
      ? inOneStatement(saves)
      : inOneStatement(
          [...saves, insertionOf(events, eventRows)],
          sql`SELECT pg_notify(${EVENTS_CHANNEL}, '')`,
        );
  await tx.execute(all);
}

function transactionRow(ledger: bigint, landed: Landed): typeof transactions.$inferInsert {
  const { hash, signedBytes } = landed.transaction;
  return {
    hash,
    ledger,
    signedBytes,
    result: landed.effects?.result ?? null,
    refusalReason: landed.refusal?.reason ?? null,
    refusalMessage: landed.refusal?.message ?? null,
  };
}

function eventRow(
  ledger: ClosedLedger,
  transaction: SignedTransaction,
  event: ContractEvent,
  indexInLedger: number,
  eventIndex: number,
): typeof events.$inferInsert {
  return {
    id: eventId(ledger.ledger, indexInLedger, eventIndex),
    contract: event.contract,
    eventType: event.eventType,
    ledger: ledger.ledger,
    txHash: transaction.hash,
    timestamp: ledger.closedAt,
    data: event.data,
  };
}

/**
 * An id numbered as on Stellar: ledger, transaction and operation in one 64-bit number, then the event's
 * index.
 */
function eventId(ledger: bigint, indexInLedger: number, eventIndex: number): string {
  const operation = (ledger << 32n) | (BigInt(indexInLedger + 1) << 12n);
  return `${String(operation).padStart(19, '0')}-${String(eventIndex).padStart(10, '0')}`;
}
