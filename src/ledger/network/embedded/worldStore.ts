/**
 * Loads the state that a batch of calls touches and stores its changes: a few statements per batch, sent without
 * waiting for each other.
 */
import { and, eq, or, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../../db/connection.ts';
import { insertionOf, insertRows, isOneOf } from '../../../db/manyRows.ts';
import type { Address } from '../port.ts';
import { balances, offRamps, retirements, settlements, tokens } from './tables.ts';
import { createWorld } from './world.ts';
import type { LoadedWorld, World, WorldChanges, WorldKeys } from './world.ts';

/** The state that all these calls touch together. */
export async function loadWorld(db: Db | Tx, calls: readonly WorldKeys[]): Promise<World> {
  return (await loadState(db, calls))();
}

/**
 * The same, for calls that must not see each other's changes: each gets a world of its own from what is returned.
 * Calls about deposits lead from the deposit to its token and three balances, which are loaded in a second step.
 */
export async function loadState(db: Db | Tx, calls: readonly WorldKeys[]): Promise<() => World> {
  const asked = mergeKeys(calls);
  const [heldOffRamps, heldSettlements] = await Promise.all([
    loadOffRamps(db, asked.offRamps),
    asked.settlements.length === 0
      ? []
      : db.select().from(settlements).where(isOneOf(settlements.address, asked.settlements)),
  ]);
  const keys = mergeKeys([asked, ...keysBehind(heldOffRamps, heldSettlements, asked)]);
  const [heldTokens, heldBalances] = await Promise.all([
    keys.tokens.length === 0 ? [] : db.select().from(tokens).where(isOneOf(tokens.address, keys.tokens)),
    loadBalances(db, keys.balances),
  ]);
  const loaded = {
    tokens: heldTokens,
    settlements: heldSettlements,
    balances: heldBalances,
    offRamps: heldOffRamps,
  };
  return () => createWorld(keys, loaded);
}

/** Tokens and settlement contracts, which everything else refers to. */
export async function saveContracts(tx: Tx, changes: WorldChanges): Promise<void> {
  await Promise.all([saveTokens(tx, changes.tokens), saveSettlements(tx, changes.settlements)]);
}

/** Balances, deposits and records; their contracts must be stored before. */
export async function saveHoldings(tx: Tx, changes: WorldChanges): Promise<void> {
  await Promise.all([
    saveBalances(tx, changes.balances),
    saveOffRamps(tx, changes.offRamps),
    insertRows(tx, retirements, changes.retirements),
  ]);
}

function loadOffRamps(db: Db | Tx, keys: WorldKeys['offRamps']): Promise<LoadedWorld['offRamps']> | [] {
  if (keys.length === 0) return [];
  const wanted = keys.map((key) =>
    and(eq(offRamps.settlementAddress, key.settlementAddress), eq(offRamps.referenceId, key.referenceId)),
  );
  return db
    .select()
    .from(offRamps)
    .where(or(...wanted))
    .execute();
}

function loadBalances(db: Db | Tx, keys: WorldKeys['balances']): Promise<LoadedWorld['balances']> | [] {
  if (keys.length === 0) return [];
  const pairs = keys.map((key) => sql`(${key.tokenAddress}, ${key.holder})`);
  return db
    .select()
    .from(balances)
    .where(sql`(${balances.tokenAddress}, ${balances.holder}) IN (${sql.join(pairs, sql`, `)})`)
    .execute();
}

/** The token and balances that the batch's deposits, new or old, will move. */
function keysBehind(
  heldOffRamps: LoadedWorld['offRamps'],
  heldSettlements: LoadedWorld['settlements'],
  asked: WorldKeys,
): WorldKeys[] {
  const treasuryOf = new Map(heldSettlements.map((held) => [held.address, held.treasury]));
  const none = { settlements: [], offRamps: [] };
  const ofDeposits = heldOffRamps.map((offRamp) => {
    const holders = [offRamp.settlementAddress, offRamp.depositor, treasuryOf.get(offRamp.settlementAddress)];
    return {
      ...none,
      tokens: [offRamp.tokenAddress],
      balances: balancesOf(offRamp.tokenAddress, holders),
    };
  });
  // A deposit made in this batch may also be confirmed in it, which needs the treasury's balance.
  const ofNewDeposits = asked.balances
    .filter((balance) => treasuryOf.has(balance.holder))
    .map((balance) => ({
      ...none,
      tokens: [],
      balances: balancesOf(balance.tokenAddress, [treasuryOf.get(balance.holder)]),
    }));
  return [...ofDeposits, ...ofNewDeposits];
}

function balancesOf(tokenAddress: Address, holders: (Address | undefined)[]): WorldKeys['balances'] {
  return holders.filter((holder) => holder !== undefined).map((holder) => ({ tokenAddress, holder }));
}

function mergeKeys(many: readonly WorldKeys[]): WorldKeys {
  return {
    tokens: [...new Set(many.flatMap((keys) => keys.tokens))],
    settlements: [...new Set(many.flatMap((keys) => keys.settlements))],
    balances: uniqueBy(
      many.flatMap((keys) => keys.balances),
      (key) => `${key.tokenAddress} ${key.holder}`,
    ),
    offRamps: uniqueBy(
      many.flatMap((keys) => keys.offRamps),
      (key) => `${key.settlementAddress} ${key.referenceId}`,
    ),
  };
}

function uniqueBy<T>(items: T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

async function saveTokens(tx: Tx, changed: WorldChanges['tokens']): Promise<void> {
  if (changed.length === 0) return;
  await tx.execute(sql`${insertionOf(tokens, changed)} ON CONFLICT (address) DO UPDATE SET paused = excluded.paused,
    status = excluded.status, total_supply = excluded.total_supply, total_retired = excluded.total_retired,
    total_retirements = excluded.total_retirements`);
}

async function saveSettlements(tx: Tx, changed: WorldChanges['settlements']): Promise<void> {
  if (changed.length === 0) return;
  await tx
    .insert(settlements)
    .values(changed)
    .onConflictDoUpdate({ target: settlements.address, set: { paused: sql`excluded.paused` } });
}

async function saveBalances(tx: Tx, changed: WorldChanges['balances']): Promise<void> {
  if (changed.length === 0) return;
  await tx.execute(sql`${insertionOf(balances, changed)}
    ON CONFLICT (token_address, holder) DO UPDATE SET amount = excluded.amount`);
}

async function saveOffRamps(tx: Tx, changed: WorldChanges['offRamps']): Promise<void> {
  if (changed.length === 0) return;
  await tx
    .insert(offRamps)
    .values(changed)
    .onConflictDoUpdate({
      target: [offRamps.settlementAddress, offRamps.referenceId],
      set: { status: sql`excluded.status` },
    });
}
