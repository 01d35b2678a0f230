/**
 * Runs one of the embedded network's rules as a Soroban contract: its refusals become contract errors by
 * number.
 */
import { NetworkRefusal } from '../../../../src/ledger/network/port.ts';
import type { CallResult, RefusalReason } from '../../../../src/ledger/network/port.ts';
import { execute } from '../../../../src/ledger/network/embedded/contracts/execute.ts';
import type { Invocation } from '../../../../src/ledger/network/embedded/calls.ts';
import { contractFailure, hostFailure } from '../hostErrors.ts';
import type { HostFailure } from '../hostErrors.ts';
import type { CodeLibrary, Env } from '../host.ts';
import { address as addressValue } from '../values.ts';
import { createSorobanWorld } from './world.ts';
import type { WorldOptions } from './world.ts';

export interface Rule {
  call: Invocation;
  /** Who authorised the call: checked before the rule runs. */
  source: string;
  aliases?: ReadonlyMap<string, string>;
  admin?: string;
  deploy?: WorldOptions['deploy'];
  /** What this contract's own errors are numbered; others have the numbers that all contracts share. */
  errors: ErrorNumbers;
}

export type ErrorNumbers = Partial<Record<RefusalReason, number>>;

/** Numbers that the deployed contracts share, whatever else they number themselves. */
const SHARED_ERRORS: ErrorNumbers = { INSUFFICIENT_BALANCE: 5, PAUSED: 11 };

interface RuleDeps {
  env: Env;
  library: CodeLibrary;
}

export type RuleOutcome =
  { kind: 'done'; result: CallResult } | { kind: 'refused'; reason: RefusalReason; failure: HostFailure };

/** @throws HostFailure what the rule refuses */
export function runRule(deps: RuleDeps, rule: Rule): CallResult {
  const outcome = tryRule(deps, rule);
  if (outcome.kind === 'refused') throw outcome.failure;
  return outcome.result;
}

/** The rule's own events are left aside: contracts publish theirs in Soroban's form. */
export function tryRule({ env, library }: RuleDeps, rule: Rule): RuleOutcome {
  const aliases = rule.aliases ?? new Map<string, string>();
  const world = createSorobanWorld({
    env,
    library,
    aliases,
    admin: rule.admin ?? null,
    deploy: rule.deploy ?? null,
  });
  const context = {
    networkId: env.ledger.passphrase,
    factoryAddress: env.contract,
    source: rule.source,
    closedAt: env.ledger.closedAt,
  };
  try {
    return { kind: 'done', result: execute(world, context, rule.call).result };
  } catch (refusal) {
    if (!(refusal instanceof NetworkRefusal)) throw refusal;
    return { kind: 'refused', reason: refusal.reason, failure: failureOf(refusal, rule, env) };
  }
}

function failureOf(refusal: NetworkRefusal, rule: Rule, env: Env): HostFailure {
  const number = rule.errors[refusal.reason] ?? SHARED_ERRORS[refusal.reason];
  if (number !== undefined) return contractFailure(number);
  if (refusal.reason === 'SALT_ALREADY_USED') {
    return hostFailure('Storage', 'ExistingValue', 'contract already exists');
  }
  if (refusal.reason === 'CONTRACT_NOT_FOUND') {
    const message = 'trying to get non-existing value for contract instance';
    return hostFailure('Storage', 'MissingValue', message, [addressValue(env.contract)]);
  }
  // The deployed contracts have no number for it: an arithmetic check or an `unwrap` panics.
  return hostFailure('WasmVm', 'InvalidAction', 'VM call trapped: UnreachableCodeReached');
}
