/**
 * The contracts' state during a batch: the loaded rows, and the batch's changes.
 *
 * Contract rules are plain functions over a `World`, without a database. Reading a row that was not loaded
 * throws: if it counted as absent, a wrong balance would be stored.
 */
import type { Address } from '../port.ts';
import type { balances, offRamps, retirements, settlements, tokens } from './tables.ts';

/** Each as its table keeps it. */
export type TokenState = Readonly<typeof tokens.$inferSelect>;
export type SettlementState = Readonly<typeof settlements.$inferSelect>;
type OffRampState = Readonly<typeof offRamps.$inferSelect>;
type BalanceState = Readonly<typeof balances.$inferSelect>;
type RetirementState = Readonly<typeof retirements.$inferSelect>;

/** The state that must be loaded before a batch is executed. */
export interface WorldKeys {
  tokens: Address[];
  settlements: Address[];
  balances: BalanceKey[];
  offRamps: OffRampKey[];
}

type BalanceKey = Pick<BalanceState, 'tokenAddress' | 'holder'>;
type OffRampKey = Pick<OffRampState, 'settlementAddress' | 'referenceId'>;

export interface LoadedWorld {
  tokens: TokenState[];
  settlements: SettlementState[];
  balances: BalanceState[];
  offRamps: OffRampState[];
}

export type World = ReturnType<ReturnType<typeof worldsOf>>;

/** @returns a function that creates a world of the loaded state; worlds don't see each other's changes */
export function worldsOf(keys: WorldKeys, loaded: LoadedWorld) {
  const tokensOf = loadedRows('token', addressOf, keys.tokens, loaded.tokens);
  const settlementsOf = loadedRows('settlement', addressOf, keys.settlements, loaded.settlements);
  const balancesOf = loadedRows('balance', balanceKey, keys.balances.map(balanceKey), loaded.balances);
  const offRampsOf = loadedRows('off-ramp', offRampKey, keys.offRamps.map(offRampKey), loaded.offRamps);
  return () => ({
    tokens: tokensOf(),
    settlements: settlementsOf(),
    balances: balancesOf(),
    offRamps: offRampsOf(),
    /** Those that were made. */
    retirements: [] as RetirementState[],
  });
}

/**
 * Each world has only its changes, over rows that all worlds share: a simulation makes one for each of its
 * calls, and a copy of all rows for each would cost more than the calls.
 * @param keys the keys of all rows that were looked up, whether or not the rows exist
 */
function loadedRows<Row>(
  what: string,
  keyOf: (row: Row) => string,
  keys: readonly string[],
  loaded: readonly Row[],
) {
  const values = new Map<string, Row | null>(keys.map((key) => [key, null]));
  for (const row of loaded) values.set(keyOf(row), row);
  return () => {
    const changed = new Map<string, Row>();
    return {
      get(key: string): Row | null {
        const value = changed.get(key) ?? values.get(key);
        if (value === undefined) throw new Error(`The ${what} ${key} was not loaded before execution`);
        return value;
      },
      put: (row: Row) => void changed.set(keyOf(row), row),
      /** Each row that was put, once, in its last state. */
      changed: () => [...changed.values()],
    };
  };
}

const addressOf = ({ address }: { address: Address }) => address;

export function balanceKey(balance: BalanceKey): string {
  return `${balance.tokenAddress} ${balance.holder}`;
}

export function offRampKey(offRamp: OffRampKey): string {
  return `${offRamp.settlementAddress} ${offRamp.referenceId}`;
}
