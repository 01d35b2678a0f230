/**
 * The two token contracts: carbon credits and commodity receipts, with their SEP-41 functions.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { contractFailure, trap } from '../hostErrors.ts';
import type { CodeLibrary, ContractCode, ContractFunction, Env } from '../host.ts';
import {
  address,
  asAddress,
  asI128,
  asString,
  asU32,
  bool,
  i128,
  string,
  symbol,
  u32,
  u64,
  variant,
  vec,
  VOID,
} from '../values.ts';
import { readInstance, readPersistent, writeInstance } from './contractStorage.ts';
import { runRule } from './rules.ts';
import type { Rule } from './rules.ts';
import { expiryDate, isPaused, keys, readBalance, required } from './world.ts';

const ZERO_RETIREMENT_AMOUNT = 1;
const INSUFFICIENT_TO_RETIRE = 2;

export function tokenCodes(library: CodeLibrary): { carbonCredit: ContractCode; commodity: ContractCode } {
  const shared = sharedFunctions(library);
  return {
    carbonCredit: { ...shared, ...carbonFunctions(library) },
    commodity: { ...shared, ...receiptFunctions() },
  };
}

function sharedFunctions(library: CodeLibrary): ContractCode {
  const run = (env: Env, rule: Rule) => runRule({ env, library }, rule);
  return {
    balance: reading(1, (env, [id]) => i128(readBalance(env, env.contract, asAddress(argument(id))))),
    decimals: reading(0, (env) => required(instanceOf(env), keys.decimals)),
    name: reading(0, (env) => required(instanceOf(env), keys.name)),
    symbol: reading(0, (env) => required(instanceOf(env), keys.symbol)),
    asset_id: reading(0, (env) => required(instanceOf(env), keys.assetId)),
    country_code: reading(0, (env) => required(instanceOf(env), keys.countryCode)),
    status: reading(0, (env) => required(instanceOf(env), keys.status)),
    metadata_version: reading(0, (env) => required(instanceOf(env), keys.metadataVersion)),
    total_supply: reading(0, (env) => instanceOf(env).get(keys.totalSupply) ?? i128(0n)),
    is_paused: reading(0, (env) => bool(isPaused(instanceOf(env)))),
    get_metadata: reading(0, (env) => persistent(env, keys.metadata)),
    mint: {
      arity: 2,
      run(env, [to, amount]) {
        const minter = roleOf(env, 'Minter');
        env.requireAuth(minter);
        const call = {
          kind: 'mint' as const,
          tokenAddress: env.contract,
          to: asAddress(argument(to)),
          amount: asI128(argument(amount)),
        };
        run(env, { call, source: minter, errors: {} });
        env.publish([symbol('mint'), address(call.to)], i128(call.amount));
        return VOID;
      },
    },
    transfer: {
      arity: 3,
      run(env, args) {
        const [from, to, amount] = transferArguments(args);
        env.requireAuth(from);
        const call = { kind: 'transfer' as const, tokenAddress: env.contract, to, amount };
        run(env, { call, source: from, errors: {} });
        publishTransfer(env, from, to, amount);
        return VOID;
      },
    },
    pause: pausing(library, true),
    unpause: pausing(library, false),
  };
}

function carbonFunctions(library: CodeLibrary): ContractCode {
  return {
    total_retired: reading(0, (env) => instanceOf(env).get(keys.totalRetired) ?? i128(0n)),
    total_retirements: reading(0, (env) => instanceOf(env).get(keys.retirementCount) ?? u32(0)),
    get_retirement: reading(1, (env, [index]) => persistent(env, keys.retirement(asU32(argument(index))))),
    retire: {
      arity: 4,
      run(env, args) {
        const [retiredBy, amount, beneficiary, note] = retireArguments(args);
        // The contract checks the amount before it asks who is there.
        if (amount === 0n) throw contractFailure(ZERO_RETIREMENT_AMOUNT);
        if (readBalance(env, env.contract, retiredBy) < amount) {
          throw contractFailure(INSUFFICIENT_TO_RETIRE);
        }
        env.requireAuth(retiredBy);
        const call = { kind: 'retire' as const, tokenAddress: env.contract, amount, beneficiary, note };
        const errors = { ZERO_AMOUNT: ZERO_RETIREMENT_AMOUNT, INSUFFICIENT_BALANCE: INSUFFICIENT_TO_RETIRE };
        const result = runRule({ env, library }, { call, source: retiredBy, errors });
        if (result.kind !== 'retired') throw new Error(`A retirement came to ${result.kind}`);
        env.publish([symbol('burn'), address(retiredBy)], i128(amount));
        env.publish(
          [symbol('retired'), address(retiredBy)],
          vec([i128(amount), string(beneficiary), u32(result.retirementIndex), u64(env.ledger.closedAt)]),
        );
        return VOID;
      },
    },
  };
}

function receiptFunctions(): ContractCode {
  return {
    is_expired: reading(0, (env) => bool(env.ledger.closedAt > expiryDate(env, env.contract))),
    mark_expired: {
      arity: 0,
      run(env) {
        const manager = roleOf(env, 'Manager');
        env.requireAuth(manager);
        // The deployed contract does not look at the expiry date.
        writeInstance(env, env.contract, [{ key: keys.status, val: variant('Expired') }]);
        env.publish([symbol('status')], variant('Expired'));
        return VOID;
      },
    },
  };
}

/** Tokens and settlement contracts pause alike. */
export function pausing(library: CodeLibrary, paused: boolean): ContractFunction {
  return {
    arity: 0,
    run(env) {
      const pauser = roleOf(env, 'Pauser');
      env.requireAuth(pauser);
      const call = { kind: 'setPaused' as const, contractAddress: env.contract, paused };
      runRule({ env, library }, { call, source: pauser, errors: {} });
      return VOID;
    },
  };
}

export function publishTransfer(env: Env, from: string, to: string, amount: bigint): void {
  env.publish([symbol('transfer'), address(from), address(to)], i128(amount));
}

/** A function that only reads. */
export function reading(arity: number, run: ContractFunction['run']): ContractFunction {
  return { arity, run };
}

export function argument(value: xdr.ScVal | undefined): xdr.ScVal {
  if (!value) throw trap('argument');
  return value;
}

export function instanceOf(env: Env) {
  return readInstance(env, env.contract) ?? missing();
}

export function roleOf(env: Env, role: string): string {
  return asAddress(required(instanceOf(env), keys.role(role)));
}

export function transferArguments(args: readonly xdr.ScVal[]): [from: string, to: string, amount: bigint] {
  const [from, to, amount] = args;
  return [asAddress(argument(from)), asAddress(argument(to)), asI128(argument(amount))];
}

function retireArguments(args: readonly xdr.ScVal[]): [string, bigint, string, string] {
  const [retiredBy, amount, beneficiary, note] = args;
  return [
    asAddress(argument(retiredBy)),
    asI128(argument(amount)),
    asString(argument(beneficiary)),
    asString(argument(note)),
  ];
}

function persistent(env: Env, key: xdr.ScVal): xdr.ScVal {
  return readPersistent(env, env.contract, key) ?? missing();
}

function missing(): never {
  throw trap('unwrap');
}
