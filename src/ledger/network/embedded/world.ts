/**
 * The contracts' state during a batch: what was loaded, and what the batch changed.
 *
 * Contract rules are plain functions over a `World` and know no database. Reading something that was not loaded
 * throws: taken for absent, it would overwrite a balance with a wrong one.
 */
import type {
  Address,
  Hash32,
  OffRampDeposit,
  ReceiptStatus,
  RetirementRecord,
  TokenTemplate,
  UnixSeconds,
} from '../port.ts';

export interface TokenState {
  readonly address: Address;
  readonly template: TokenTemplate;
  /** Holds every role: minter, manager, pauser. */
  readonly admin: Address;
  readonly symbol: string;
  readonly paused: boolean;
  readonly status: ReceiptStatus;
  /** Null for carbon credits. */
  readonly expiryDate: UnixSeconds | null;
  readonly totalSupply: bigint;
  readonly totalRetired: bigint;
  readonly totalRetirements: number;
}

export interface SettlementState {
  readonly address: Address;
  /** Settler and manager. */
  readonly admin: Address;
  readonly treasury: Address;
  readonly paused: boolean;
}

interface OffRampState extends Readonly<OffRampDeposit> {
  readonly settlementAddress: Address;
  readonly referenceId: Hash32;
}

interface BalanceState {
  readonly tokenAddress: Address;
  readonly holder: Address;
  readonly amount: bigint;
}

type RetirementState = RetirementRecord & { readonly tokenAddress: Address };

/** The state that must be loaded before a batch is executed. */
export interface WorldKeys {
  tokens: Address[];
  settlements: Address[];
  balances: { tokenAddress: Address; holder: Address }[];
  offRamps: { settlementAddress: Address; referenceId: Hash32 }[];
}

export interface LoadedWorld {
  tokens: TokenState[];
  settlements: SettlementState[];
  balances: BalanceState[];
  offRamps: OffRampState[];
}

export interface WorldChanges extends LoadedWorld {
  retirements: RetirementState[];
}

export interface World {
  token(address: Address): TokenState | null;
  putToken(token: TokenState): void;
  settlement(address: Address): SettlementState | null;
  putSettlement(settlement: SettlementState): void;
  balance(tokenAddress: Address, holder: Address): bigint;
  putBalance(tokenAddress: Address, holder: Address, amount: bigint): void;
  offRamp(settlementAddress: Address, referenceId: Hash32): OffRampState | null;
  putOffRamp(offRamp: OffRampState): void;
  appendRetirement(retirement: RetirementState): void;
  /** Everything put since the world was created, each item once in its last state. */
  changes(): WorldChanges;
}

export function createWorld(keys: WorldKeys, loaded: LoadedWorld): World {
  const tokens = createLoadedRows<TokenState>('token', keys.tokens);
  const settlements = createLoadedRows<SettlementState>('settlement', keys.settlements);
  const balances = createLoadedRows<BalanceState>('balance', keys.balances.map(balanceKey));
  const offRamps = createLoadedRows<OffRampState>('off-ramp', keys.offRamps.map(offRampKey));
  const retirements: RetirementState[] = [];

  for (const token of loaded.tokens) tokens.load(token.address, token);
  for (const settlement of loaded.settlements) settlements.load(settlement.address, settlement);
  for (const balance of loaded.balances) balances.load(balanceKey(balance), balance);
  for (const offRamp of loaded.offRamps) offRamps.load(offRampKey(offRamp), offRamp);

  return {
    token: (address) => tokens.get(address),
    putToken: (token) => tokens.put(token.address, token),
    settlement: (address) => settlements.get(address),
    putSettlement: (settlement) => settlements.put(settlement.address, settlement),
    balance: (tokenAddress, holder) => balances.get(balanceKey({ tokenAddress, holder }))?.amount ?? 0n,
    putBalance(tokenAddress, holder, amount) {
      balances.put(balanceKey({ tokenAddress, holder }), { tokenAddress, holder, amount });
    },
    offRamp: (settlementAddress, referenceId) => offRamps.get(offRampKey({ settlementAddress, referenceId })),
    putOffRamp: (offRamp) => offRamps.put(offRampKey(offRamp), offRamp),
    appendRetirement: (retirement) => retirements.push(retirement),
    changes: () => ({
      tokens: tokens.changed(),
      settlements: settlements.changed(),
      balances: balances.changed(),
      offRamps: offRamps.changed(),
      retirements,
    }),
  };
}

interface LoadedRows<T> {
  load(key: string, value: T): void;
  get(key: string): T | null;
  put(key: string, value: T): void;
  changed(): T[];
}

function createLoadedRows<T>(what: string, loadedKeys: string[]): LoadedRows<T> {
  const values = new Map<string, T | null>(loadedKeys.map((key) => [key, null]));
  const changedKeys = new Set<string>();
  return {
    load: (key, value) => values.set(key, value),
    get(key) {
      const value = values.get(key);
      if (value === undefined) throw new Error(`The ${what} ${key} was not loaded before execution`);
      return value;
    },
    put(key, value) {
      values.set(key, value);
      changedKeys.add(key);
    },
    changed: () => [...changedKeys].map((key) => values.get(key) as T),
  };
}

function balanceKey(balance: { tokenAddress: Address; holder: Address }): string {
  return `${balance.tokenAddress} ${balance.holder}`;
}

function offRampKey(offRamp: { settlementAddress: Address; referenceId: Hash32 }): string {
  return `${offRamp.settlementAddress} ${offRamp.referenceId}`;
}
