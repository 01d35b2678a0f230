/**
 * The ramp settlement contract.
 */
import type { CodeLibrary, ContractCode, ContractFunction, Env } from '../host.ts';
import {
  address,
  asAddress,
  asBytes32,
  asI128,
  asString,
  bool,
  bytes32,
  i128,
  string,
  symbol,
  vec,
  VOID,
} from '../values.ts';
import { hashText } from '../../../../src/ledger/network/embedded/addresses.ts';
import { readPersistent } from './contractStorage.ts';
import { runRule, tryRule } from './rules.ts';
import type { ErrorNumbers, RuleOutcome } from './rules.ts';
import { argument, instanceOf, pausing, publishTransfer, reading, roleOf } from './tokens.ts';
import { asOffRamp, isPaused, keys, required } from './world.ts';

/**
 * Whether `initiate_off_ramp` asks the caller itself (`root`), or leaves it to the token's transfer (`nested`).
 * Both are in use; with the second, a simulation has to allow authorisations below the root.
 */
export type DepositAuth = 'root' | 'nested';

const ERRORS: ErrorNumbers = { ZERO_AMOUNT: 1, REFERENCE_ALREADY_USED: 2, WRONG_STATUS: 3 };

interface Transfer {
  token: string;
  from: string;
  to: string;
  amount: bigint;
}

export function settlementCode(library: CodeLibrary, depositAuth: DepositAuth): ContractCode {
  return {
    initiate_off_ramp: initiating(library, depositAuth),
    confirm_off_ramp_settlement: resolving(library, 'confirmOffRampSettlement'),
    refund_off_ramp: resolving(library, 'refundOffRamp'),
    get_off_ramp: reading(1, (env, [reference]) => {
      return readPersistent(env, env.contract, keys.offRamp(asBytes32(argument(reference)))) ?? VOID;
    }),
    treasury: reading(0, (env) => required(instanceOf(env), keys.treasury)),
    is_paused: reading(0, (env) => bool(isPaused(instanceOf(env)))),
    pause: pausing(library, true),
    unpause: pausing(library, false),
  };
}

function initiating(library: CodeLibrary, depositAuth: DepositAuth): ContractFunction {
  return {
    arity: 5,
    run(env, args) {
      const caller = asAddress(argument(args[0]));
      const reference = asBytes32(argument(args[1]));
      const token = asAddress(argument(args[2]));
      const amount = asI128(argument(args[3]));
      const providerRef = asString(argument(args[4]));
      if (depositAuth === 'root') env.requireAuth(caller);
      const isSettlementPaused = isPaused(instanceOf(env));
      const outcome = tryRule(
        { env, library },
        {
          call: {
            kind: 'initiateOffRamp',
            settlementAddress: env.contract,
            sessionId: providerRef,
            tokenAddress: token,
            amount,
          },
          source: caller,
          aliases: new Map([[hashText(providerRef), reference]]),
          errors: ERRORS,
        },
      );
      if (outcome.kind === 'refused' && (isSettlementPaused || isOwnCheck(outcome.reason))) {
        throw outcome.failure;
      }
      transferOf(env, { token, from: caller, to: env.contract, amount }, outcome);
      env.publish(
        [symbol('offinit'), bytes32(reference)],
        vec([address(caller), address(token), i128(amount), string(providerRef)]),
      );
      return VOID;
    },
  };
}

function resolving(
  library: CodeLibrary,
  kind: 'confirmOffRampSettlement' | 'refundOffRamp',
): ContractFunction {
  const isConfirming = kind === 'confirmOffRampSettlement';
  return {
    arity: 1,
    run(env, [referenceArgument]) {
      const reference = asBytes32(argument(referenceArgument));
      const resolver = roleOf(env, isConfirming ? 'Settler' : 'Manager');
      env.requireAuth(resolver);
      // The rules know a session's id where the contract is given its hash: the hash stands in for the id.
      runRule(
        { env, library },
        {
          call: { kind, settlementAddress: env.contract, sessionId: reference },
          source: resolver,
          aliases: new Map([[hashText(reference), reference]]),
          errors: ERRORS,
        },
      );
      const deposit = asOffRamp(
        argument(readPersistent(env, env.contract, keys.offRamp(reference)) ?? undefined),
      );
      const treasury = required(instanceOf(env), keys.treasury);
      const to = isConfirming ? asAddress(treasury) : deposit.depositor;
      const { tokenAddress: token, amount } = deposit;
      transferOf(env, { token, from: env.contract, to, amount }, null);
      const event = isConfirming ? 'offsettl' : 'offrfnd';
      env.publish([symbol(event), bytes32(reference)], vec([address(to), i128(amount)]));
      return VOID;
    },
  };
}

/** The call of the token that the rule has already done the work of, or has been refused in. */
function transferOf(env: Env, { token, from, to, amount }: Transfer, outcome: RuleOutcome | null): void {
  const args = [address(from), address(to), i128(amount)];
  env.callWith({ contract: token, functionName: 'transfer', args }, (tokenEnv) => {
    tokenEnv.requireAuth(from);
    if (outcome?.kind === 'refused') throw outcome.failure;
    publishTransfer(tokenEnv, from, to, amount);
    return VOID;
  });
}

function isOwnCheck(reason: string): boolean {
  return Object.hasOwn(ERRORS, reason);
}
