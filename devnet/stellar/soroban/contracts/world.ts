/**
 * The embedded network's rules run on a `World`; this one reads and writes Soroban's ledger entries, in the
 * layout that the deployed contracts have.
 *
 * The rules derive an address from a salt and hash asset ids and session ids in the embedded network's way,
 * where Soroban's callers name addresses and hashes themselves: `aliases` leads from the one to the other.
 */
import type { xdr } from '@stellar/stellar-sdk';
import type { OffRampDeposit, ReceiptStatus } from '../../../../src/ledger/network/port.ts';
import type {
  OffRampState,
  SettlementState,
  TokenState,
  World,
} from '../../../../src/ledger/network/embedded/world.ts';
import { trap } from '../hostErrors.ts';
import type { CodeLibrary, Env } from '../host.ts';
import {
  address,
  asAddress,
  asBool,
  asBytes32,
  asI128,
  asString,
  asStruct,
  asU32,
  asU64,
  asVariant,
  bool,
  bytes32,
  fieldsOf,
  i128,
  string,
  struct,
  u32,
  u64,
  variant,
} from '../values.ts';
import { readInstance, readPersistent, writeInstance, writePersistent } from './contractStorage.ts';
import type { Instance } from './contractStorage.ts';

export interface WorldOptions {
  env: Env;
  library: CodeLibrary;
  /** From what the embedded rules derive to what this network has in its place. */
  aliases: ReadonlyMap<string, string>;
  /** Who gets the roles of a deployed contract: Soroban's callers say so, the embedded network's can't. */
  admin: string | null;
  /** Makes the contract that the rules put into the world; null where they make none. */
  deploy: ((kind: string) => void) | null;
}

export const keys = {
  name: variant('Name'),
  symbol: variant('Symbol'),
  decimals: variant('Decimals'),
  totalSupply: variant('TotalSupply'),
  totalRetired: variant('TotalRetired'),
  retirementCount: variant('RetirementCount'),
  assetId: variant('AssetId'),
  countryCode: variant('CountryCode'),
  status: variant('Status'),
  metadataVersion: variant('MetadataVersion'),
  paused: variant('Paused'),
  treasury: variant('Treasury'),
  metadata: variant('Metadata'),
  role: (role: string) => variant('RoleAddr', variant(role)),
  balance: (holder: string) => variant('Balance', address(holder)),
  retirement: (index: number) => variant('Retirement', u32(index)),
  offRamp: (referenceId: string) => variant('OffRamp', bytes32(referenceId)),
} as const;

const TOKEN_ROLES = ['Minter', 'Pauser', 'Manager', 'Upgrader'];
const SETTLEMENT_ROLES = ['Settler', 'Pauser', 'Manager', 'Upgrader'];
const TOKEN_DECIMALS = 18;

export function createSorobanWorld(options: WorldOptions): World {
  const { env, library, aliases } = options;
  const actual = (derived: string) => aliases.get(derived) ?? derived;

  function kindAt(contract: string): { kind: string; instance: Instance } | null {
    const instance = readInstance(env, contract);
    if (!instance || instance.executable.switch().name !== 'contractExecutableWasm') return null;
    const hash = instance.executable.wasmHash();
    const kind = ['carbon-credit', 'commodity', 'settlement'].find((name) =>
      library.hashOf(name).equals(hash),
    );
    return kind === undefined ? null : { kind, instance };
  }

  return {
    token(derived) {
      const found = kindAt(actual(derived));
      if (!found || found.kind === 'settlement') return null;
      const template = found.kind === 'commodity' ? 'commodity' : 'carbon-credit';
      return tokenState({ address: actual(derived), template, ...found });
    },
    putToken(token) {
      const contract = actual(token.address);
      if (readInstance(env, contract) === null) createToken(options, { ...token, address: contract });
      else writeInstance(env, contract, changingValues(token));
    },
    settlement(derived) {
      const found = kindAt(actual(derived));
      return found?.kind === 'settlement' ? settlementState(actual(derived), found.instance) : null;
    },
    putSettlement(settlement) {
      const contract = actual(settlement.address);
      if (readInstance(env, contract) === null)
        createSettlement(options, { ...settlement, address: contract });
      else writeInstance(env, contract, [{ key: keys.paused, val: bool(settlement.paused) }]);
    },
    balance: (token, holder) => readBalance(env, token, holder),
    putBalance: (token, holder, amount) => writePersistent(env, token, keys.balance(holder), i128(amount)),
    offRamp: (settlement, derived) => readOffRamp(env, settlement, actual(derived)),
    putOffRamp: (offRamp) => writeOffRamp(env, actual(offRamp.referenceId), offRamp),
    appendRetirement(retirement) {
      const record = struct({
        retired_by: address(retirement.retiredBy),
        amount: i128(retirement.amount),
        timestamp: u64(retirement.timestamp),
        beneficiary: string(retirement.beneficiary),
        retirement_note: string(retirement.note),
      });
      writePersistent(env, retirement.tokenAddress, keys.retirement(retirement.index), record);
    },
    changes() {
      throw new Error('This world writes into the ledger as it goes and keeps no list of changes');
    },
  };
}

export function readBalance(env: Env, token: string, holder: string): bigint {
  const amount = readPersistent(env, token, keys.balance(holder));
  return amount ? asI128(amount) : 0n;
}

function tokenState(token: {
  address: string;
  template: TokenState['template'];
  instance: Instance;
}): TokenState {
  const { instance } = token;
  return {
    address: token.address,
    template: token.template,
    admin: asAddress(required(instance, keys.role('Minter'))),
    name: asString(required(instance, keys.name)),
    symbol: asString(required(instance, keys.symbol)),
    assetIdHash: asBytes32(required(instance, keys.assetId)),
    countryCode: asString(required(instance, keys.countryCode)),
    metadata: {},
    paused: isPaused(instance),
    status: asVariant(required(instance, keys.status)).toUpperCase() as ReceiptStatus,
    // Nothing that these contracts do depends on the date itself.
    expiryDate: token.template === 'carbon-credit' ? null : 0n,
    totalSupply: optionalAmount(instance, keys.totalSupply),
    totalRetired: optionalAmount(instance, keys.totalRetired),
    totalRetirements: asU32(instance.get(keys.retirementCount) ?? u32(0)),
  };
}

/** What changes after the deploy; a commodity token has never retired anything. */
function changingValues(token: TokenState): { key: xdr.ScVal; val: xdr.ScVal }[] {
  const values = [
    { key: keys.status, val: statusValue(token.status) },
    { key: keys.totalSupply, val: i128(token.totalSupply) },
    { key: keys.paused, val: bool(token.paused) },
  ];
  if (token.template === 'commodity') return values;
  return [
    ...values,
    { key: keys.totalRetired, val: i128(token.totalRetired) },
    { key: keys.retirementCount, val: u32(token.totalRetirements) },
  ];
}

function createToken(options: WorldOptions, token: TokenState): void {
  const { env, aliases, admin } = options;
  const assetId = aliases.get(token.assetIdHash) ?? token.assetIdHash;
  const roles = TOKEN_ROLES.map((role) => ({ key: keys.role(role), val: address(admin ?? token.admin) }));
  options.deploy?.(token.template);
  writeInstance(env, token.address, [
    ...roles,
    { key: keys.name, val: string(token.name) },
    { key: keys.symbol, val: string(token.symbol) },
    { key: keys.decimals, val: u32(TOKEN_DECIMALS) },
    { key: keys.assetId, val: bytes32(assetId) },
    { key: keys.countryCode, val: string(token.countryCode) },
    { key: keys.status, val: statusValue(token.status) },
    { key: keys.metadataVersion, val: u32(1) },
  ]);
}

function createSettlement(options: WorldOptions, settlement: SettlementState): void {
  const admin = address(options.admin ?? settlement.admin);
  options.deploy?.('settlement');
  writeInstance(options.env, settlement.address, [
    ...SETTLEMENT_ROLES.map((role) => ({ key: keys.role(role), val: admin })),
    { key: keys.treasury, val: address(settlement.treasury) },
  ]);
}

function settlementState(contract: string, instance: Instance): SettlementState {
  return {
    address: contract,
    admin: asAddress(required(instance, keys.role('Settler'))),
    treasury: asAddress(required(instance, keys.treasury)),
    paused: isPaused(instance),
  };
}

const OFF_RAMP_FIELDS = ['depositor', 'token', 'amount', 'status', 'initiated_at'] as const;

function readOffRamp(env: Env, settlementAddress: string, referenceId: string): OffRampState | null {
  const stored = readPersistent(env, settlementAddress, keys.offRamp(referenceId));
  // The contract keeps no copy of the provider's reference: it is in the event alone.
  return stored ? { settlementAddress, referenceId, providerRef: '', ...asOffRamp(stored) } : null;
}

export function asOffRamp(stored: xdr.ScVal): OffRampDeposit {
  const fields = asStruct(stored, OFF_RAMP_FIELDS);
  return {
    depositor: asAddress(fields.depositor),
    tokenAddress: asAddress(fields.token),
    amount: asI128(fields.amount),
    status: asVariant(fields.status).toUpperCase() as OffRampDeposit['status'],
    initiatedAt: asU64(fields.initiated_at),
  };
}

function writeOffRamp(env: Env, referenceId: string, offRamp: OffRampState): void {
  const value = struct({
    depositor: address(offRamp.depositor),
    token: address(offRamp.tokenAddress),
    amount: i128(offRamp.amount),
    status: statusValue(offRamp.status),
    initiated_at: u64(offRamp.initiatedAt),
  });
  writePersistent(env, offRamp.settlementAddress, keys.offRamp(referenceId), value);
}

/** `PENDING` here is the variant `Pending` there. */
function statusValue(status: string): xdr.ScVal {
  return variant(`${status[0]}${status.slice(1).toLowerCase()}`);
}

export function isPaused(instance: Instance): boolean {
  return asBool(instance.get(keys.paused) ?? bool(false));
}

function optionalAmount(instance: Instance, key: xdr.ScVal): bigint {
  return asI128(instance.get(key) ?? i128(0n));
}

export function expiryDate(env: Env, token: string): bigint {
  const metadata = readPersistent(env, token, keys.metadata) ?? missing();
  return asU64(fieldsOf(metadata).get('expiry_date') ?? missing());
}

/** @throws HostFailure as `unwrap()` on a missing value traps */
export function required(instance: Instance, key: xdr.ScVal): xdr.ScVal {
  return instance.get(key) ?? missing();
}

function missing(): never {
  throw trap('unwrap');
}
