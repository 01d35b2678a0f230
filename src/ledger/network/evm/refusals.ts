/**
 * Classifies a contract's reason for refusing a call, from its revert data.
 */
import { decodeErrorResult } from 'viem';
import type { Hex } from 'viem';
import { storableText } from '../foreignText.ts';
import type { Refusal, RefusalReason } from '../port.ts';
import { errorsAbi } from './contracts.ts';
import type { AbiError } from './errorAbi.ts';
import type { RpcError } from './jsonRpc.ts';

/** A call that was executed and reverted. */
export interface Revert {
  /** `0x` if the contract gave no reason, or the node didn't pass it on. */
  data: Hex;
  /** The node's message. */
  message: string;
}

const REASONS: Record<string, RefusalReason> = {
  ZeroRetirementAmount: 'ZERO_AMOUNT',
  ZeroAmount: 'ZERO_AMOUNT',
  InsufficientBalance: 'INSUFFICIENT_BALANCE',
  ERC20InsufficientBalance: 'INSUFFICIENT_BALANCE',
  ERC20InsufficientAllowance: 'INSUFFICIENT_ALLOWANCE',
  ReferenceAlreadyUsed: 'REFERENCE_ALREADY_USED',
  InvalidStatus: 'WRONG_STATUS',
  EnforcedPause: 'PAUSED',
  AccessControlUnauthorizedAccount: 'UNAUTHORIZED',
  OwnableUnauthorizedAccount: 'UNAUTHORIZED',
  AddressEmptyCode: 'CONTRACT_NOT_FOUND',
  NotVerified: 'NOT_VERIFIED',
};

/** The messages of OpenZeppelin's contracts from before they had custom errors. */
const REASONS_IN_WORDS: readonly [RegExp, RefusalReason][] = [
  [/^Pausable: paused|: token transfer while paused/, 'PAUSED'],
  [/^AccessControl: account|^Ownable: caller is not the owner/, 'UNAUTHORIZED'],
  [/insufficient allowance/, 'INSUFFICIENT_ALLOWANCE'],
  [/amount exceeds balance/, 'INSUFFICIENT_BALANCE'],
  [/call to non-contract/, 'CONTRACT_NOT_FOUND'],
];

/** Virtual machine errors that the contract causes, like a revert, but without data. */
const MACHINE_ERRORS = /revert|invalid opcode|invalid jump|stack (under|over)flow|opcode .* not defined/i;

/** The revert that a node's error reports; null if the error is about the node. */
export function revertOf(error: RpcError): Revert | null {
  const data = revertDataIn(error.data);
  if (data === null && !MACHINE_ERRORS.test(error.message)) return null;
  return { data: data ?? '0x', message: error.message };
}

/** Nodes give the data as hexadecimal digits, as "Reverted 0x…", or nested one or two objects deep. */
function revertDataIn(data: unknown, depth = 0): Hex | null {
  if (typeof data === 'string') {
    const [found] = /0x(?:[0-9a-f]{2})*$/i.exec(data) ?? [];
    return (found as Hex | undefined) ?? null;
  }
  if (typeof data !== 'object' || data === null || depth > 1) return null;
  const { data: inner, result } = data as { data?: unknown; result?: unknown };
  return revertDataIn(inner ?? result, depth + 1);
}

/**
 * @param errors the operator's own errors, besides those of the interface
 * @returns a refusal that can be stored. A reason made from a `bytes32` ends with NUL characters, with which
 *   the refusal could never be settled
 */
export function refusalOf(revert: Revert, errors: readonly AbiError[]): Refusal {
  const { reason, message } = describe(revert, errors);
  return { reason, message: storableText(message) };
}

function describe(revert: Revert, errors: readonly AbiError[]): Refusal {
  if (revert.data === '0x') {
    return {
      reason: 'OTHER',
      message: `The contract refused the call and gave no reason (${revert.message})`,
    };
  }
  const decoded = decode(revert.data, errors);
  if (decoded === null) {
    return {
      reason: 'OTHER',
      message:
        `The contract refused the call with an error unknown here, ${revert.data.slice(0, 10)} ` +
        `(${revert.data.slice(0, 138)}). LEDGER_ERROR_ABI_FILE can give it its name.`,
    };
  }
  const [onlyArgument] = decoded.args;
  if (decoded.name === 'Error' && typeof onlyArgument === 'string') {
    const reason = REASONS_IN_WORDS.find(([pattern]) => pattern.test(onlyArgument))?.[1] ?? 'OTHER';
    return { reason, message: `The contract refused the call: ${onlyArgument.slice(0, 300)}` };
  }
  const details = decoded.args.map((value, at) => `${decoded.parameters[at] ?? at} ${String(value)}`);
  return {
    reason: REASONS[decoded.name] ?? 'OTHER',
    message: `The contract refused the call: ${decoded.name}(${details.join(', ')})`,
  };
}

function decode(
  data: Hex,
  errors: readonly AbiError[],
): { name: string; args: readonly unknown[]; parameters: string[] } | null {
  try {
    const { errorName, args, abiItem } = decodeErrorResult({ abi: [...errorsAbi, ...errors], data });
    const inputs = 'inputs' in abiItem ? abiItem.inputs : [];
    return {
      name: errorName,
      args: (args ?? []) as readonly unknown[],
      parameters: inputs.map((input) => input.name ?? ''),
    };
  } catch {
    return null;
  }
}
