/**
 * Loads the state that a batch of calls touches, and stores its changes: a few statements per batch, sent
 * without waiting for each other.
 */
import { and, eq, getTableColumns, or, sql, type SQL } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Db, Tx } from '../../../db/connection.ts';
import { findBy } from '../../../db/findByIds.ts';
import { hotQuery } from '../../../db/hotQueries.ts';
import { insertionOf } from '../../../db/manyRows.ts';
import type { Address } from '../port.ts';
import { balances, offRamps, retirements, settlements, tokens } from './tables.ts';
import { balanceKey, offRampKey, worldsOf } from './world.ts';
import type { LoadedWorld, World, WorldKeys } from './world.ts';

export const findTokens = findBy(tokens, tokens.address);
const findSettlements = findBy(settlements, settlements.address);
/**
 * Finds each balance by its key. With a plain join, PostgreSQL would read the whole table as soon as it has
 * several rows.
 */
const findBalances = hotQuery<typeof balances.$inferSelect>(
  sql`SELECT held.* FROM json_to_recordset(${sql.placeholder('keys')}::text::json) AS v ("tokenAddress" text, holder text)
    CROSS JOIN LATERAL (SELECT token_address, holder, amount FROM ${balances} AS b
      WHERE b.token_address = v."tokenAddress" AND b.holder = v.holder LIMIT 1) AS held`,
  getTableColumns(balances),
);

/**
 * Loads the state that all these calls touch. Calls about deposits lead from the deposit to its token and
 * three balances, which are loaded in a second step.
 * @returns a function that creates a world of the state: call it once for all calls, or once for each call if
 *   they must not see each other's changes
 */
export async function loadState(db: Db | Tx, calls: readonly WorldKeys[]): Promise<() => World> {
  const asked = mergeKeys(calls);
  const [heldOffRamps, heldSettlements] = await Promise.all([
    loadOffRamps(db, asked.offRamps),
    asked.settlements.length === 0 ? [] : findSettlements(db, asked.settlements),
  ]);
  const keys = mergeKeys([asked, ...keysBehind(heldOffRamps, heldSettlements, asked)]);
  const [heldTokens, heldBalances] = await Promise.all([
    keys.tokens.length === 0 ? [] : findTokens(db, keys.tokens),
    loadBalances(db, keys.balances),
  ]);
  const loaded = {
    tokens: heldTokens,
    settlements: heldSettlements,
    balances: heldBalances,
    offRamps: heldOffRamps,
  };
  return worldsOf(keys, loaded);
}

/** The statements that store the world's changes. They don't depend on each other. */
export function savesOf(world: World): SQL[] {
  return [
    ...saveOf(
      tokens,
      world.tokens.changed(),
      sql`ON CONFLICT (address) DO UPDATE SET paused = excluded.paused,
        status = excluded.status, total_supply = excluded.total_supply, total_retired = excluded.total_retired,
        total_retirements = excluded.total_retirements`,
    ),
    ...saveOf(
      settlements,
      world.settlements.changed(),
      sql`ON CONFLICT (address) DO UPDATE SET paused = excluded.paused`,
    ),
    ...saveOf(
      balances,
      world.balances.changed(),
      sql`ON CONFLICT (token_address, holder) DO UPDATE SET amount = excluded.amount`,
    ),
    ...saveOf(
      offRamps,
      world.offRamps.changed(),
      sql`ON CONFLICT (settlement_address, reference_id) DO UPDATE SET status = excluded.status`,
    ),
    ...saveOf(retirements, world.retirements),
  ];
}

/** The insertion of the rows, if there are any. */
export function saveOf<Table extends PgTable>(
  table: Table,
  rows: readonly Table['$inferInsert'][],
  onConflict = sql.empty(),
): SQL[] {
  return rows.length === 0 ? [] : [sql`${insertionOf(table, rows)} ${onConflict}`];
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
  return findBalances(db, { keys: JSON.stringify(keys) });
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
      balanceKey,
    ),
    offRamps: uniqueBy(
      many.flatMap((keys) => keys.offRamps),
      offRampKey,
    ),
  };
}

function uniqueBy<T>(items: T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}
