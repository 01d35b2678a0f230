/**
 * Classifies a contract's reason for refusing a call, in the port's terms.
 *
 * Error numbers are specified for retirements and the settlement contract only, and mean something only if
 * their contract is known. Otherwise the deciding state is read: existence, pause, balance, expiry.
 */
import type { xdr } from '@stellar/stellar-sdk';
import type { Address, Refusal, RefusalReason } from '../port.ts';
import { deployedAddress } from './addresses.ts';
import { FACTS, nullIfUnreadable } from './contractReads.ts';
import type { ContractReads } from './contractReads.ts';
import { isMissing, showError } from './hostErrors.ts';
import type { HostError } from './hostErrors.ts';
import { DEPLOYS, paymentTokenOf, SALT_PLACE } from './calls.ts';
import type { ContractCall } from './calls.ts';
import { addressVal, asAddress, asBigint, asEnumName, asFields, asHash32, plain } from './scvals.ts';

export interface RefusalContext {
  reads: ContractReads;
  passphrase: string;
}

const RETIRE_ERRORS: Record<number, RefusalReason> = { 1: 'ZERO_AMOUNT', 2: 'INSUFFICIENT_BALANCE' };
const SETTLEMENT_ERRORS: Record<number, RefusalReason> = {
  1: 'ZERO_AMOUNT',
  2: 'REFERENCE_ALREADY_USED',
  3: 'WRONG_STATUS',
};

/** Error number of the native asset's contract, and of every classic asset's contract. */
const BALANCE_TOO_LOW = 10;

/**
 * True if the caller can't pay the factory's fee. The factory does not refuse then: the call works once the
 * caller is funded.
 */
export function isShortOfLumens(
  { passphrase }: Pick<RefusalContext, 'passphrase'>,
  { contract, type, code }: HostError,
): boolean {
  return type === 'Contract' && code === BALANCE_TOO_LOW && contract === paymentTokenOf(passphrase);
}

/** @throws NetworkUnavailable if the state that explains the refusal can't be read */
export async function explainRefusal(
  context: RefusalContext,
  refused: ContractCall,
  error: HostError,
): Promise<Refusal> {
  const { contract, functionName } = refused;
  const explained =
    (await explainByNumber(context, refused, error)) ??
    (await explainMissing(context, contract, functionName, error)) ??
    (await explainByState(context, refused).catch(nullIfUnreadable));
  return explained ?? { reason: 'OTHER', message: `${functionName} was refused: ${showError(error)}` };
}

/** Explains a missing contract, or one of another template than the call needs. */
export async function explainMissing(
  { reads }: { reads: Pick<ContractReads, 'exists'> },
  contract: Address,
  functionName: string,
  error: HostError,
): Promise<Refusal | null> {
  if (!isMissing(error)) return null;
  if (!(await reads.exists(contract))) {
    return { reason: 'CONTRACT_NOT_FOUND', message: `No contract stands at ${contract}` };
  }
  if (error.contract !== null && error.contract !== contract) return null;
  return {
    reason: 'WRONG_TEMPLATE',
    message: `${contract} is a contract of another kind: it has no ${functionName} (${showError(error)})`,
  };
}

async function explainByNumber(
  context: RefusalContext,
  refused: ContractCall,
  error: HostError,
): Promise<Refusal | null> {
  if (error.type !== 'Contract' || typeof error.code !== 'number') return null;
  // If the node does not name the contract, the error may be that of the token that this contract calls.
  const isOwn = error.contract === null ? !callsToken(refused) : error.contract === refused.contract;
  const reason = isOwn ? numbersOf(refused.functionName)[error.code] : undefined;
  if (reason === undefined) return null;
  if (reason === 'INSUFFICIENT_BALANCE') {
    return (
      (await explainBalance(context, refused).catch(nullIfUnreadable)) ?? sayReason(reason, refused, error)
    );
  }
  return sayReason(reason, refused, error);
}

function numbersOf(functionName: string): Record<number, RefusalReason> {
  switch (functionName) {
    case 'retire':
      return RETIRE_ERRORS;
    case 'initiate_off_ramp':
    case 'confirm_off_ramp_settlement':
    case 'refund_off_ramp':
      return SETTLEMENT_ERRORS;
    default:
      return {};
  }
}

async function explainByState(context: RefusalContext, refused: ContractCall): Promise<Refusal | null> {
  const { functionName } = refused;
  if (DEPLOYS.has(functionName)) return explainDeploy(context, refused);
  const paused = await explainPause(context, [refused.contract, ...(tokenMovedBy(refused)?.nested ?? [])]);
  if (paused) return paused;
  if (callsToken(refused)) {
    const reported = await explainReference(context, refused);
    if (reported) return reported;
  }
  if (functionName === 'mark_expired') return explainExpiry(context.reads, refused.contract);
  return explainBalance(context, refused);
}

async function explainDeploy(
  context: RefusalContext,
  { contract, args }: ContractCall,
): Promise<Refusal | null> {
  const salt = asHash32(plainArg(args, SALT_PLACE), 'salt');
  const address = deployedAddress(context.passphrase, contract, salt);
  if (!(await context.reads.exists(address))) return null;
  return {
    reason: 'SALT_ALREADY_USED',
    message: `The salt ${salt} was used before: a contract stands at ${address}`,
  };
}

async function explainPause(
  { reads }: RefusalContext,
  contracts: readonly Address[],
): Promise<Refusal | null> {
  for (const contract of contracts) {
    if ((await reads.fact(contract, FACTS.paused)) === true) {
      return { reason: 'PAUSED', message: `The contract ${contract} is paused` };
    }
  }
  return null;
}

/** A reference allows one deposit. A deposit allows one resolution, which moves its token. */
async function explainReference(context: RefusalContext, refused: ContractCall): Promise<Refusal | null> {
  const { contract, functionName, args } = refused;
  const reference = args[functionName === 'initiate_off_ramp' ? 1 : 0];
  const answer = await context.reads.ask(contract, 'get_off_ramp', reference ? [reference] : []);
  if (!answer.ok) return null;
  const stored = plain(answer.value);
  const deposit = stored ? asFields(stored, 'a deposit') : null;
  const status = deposit ? asEnumName(deposit['status'], 'status') : 'None';
  if (functionName === 'initiate_off_ramp') {
    if (status === 'None') return null;
    const message = `${contract} has taken a deposit of this reference before: it is ${status}`;
    return { reason: 'REFERENCE_ALREADY_USED', message };
  }
  if (deposit !== null && status === 'Pending') {
    return explainPause(context, [asAddress(deposit['token'], 'token')]);
  }
  return { reason: 'WRONG_STATUS', message: `The deposit at ${contract} is ${status}, not Pending` };
}

async function explainBalance({ reads }: RefusalContext, refused: ContractCall): Promise<Refusal | null> {
  const moved = tokenMovedBy(refused);
  if (!moved) return null;
  const balance = await reads.ask(moved.token, 'balance', [addressVal('id', moved.holder)]);
  if (!balance.ok) return explainMissing({ reads }, moved.token, 'balance', balance.error);
  const available = asBigint(plain(balance.value), 'balance');
  if (available >= moved.amount) return null;
  return {
    reason: 'INSUFFICIENT_BALANCE',
    message: `${moved.holder} holds too little of ${moved.token}: available ${available}, requested ${moved.amount}`,
  };
}

/** Every call of the settlement contract moves a token. */
function callsToken({ functionName }: ContractCall): boolean {
  return numbersOf(functionName) === SETTLEMENT_ERRORS;
}

/** The token that a call moves, and the holder whose balance it takes. */
function tokenMovedBy({
  contract,
  functionName,
  args,
}: ContractCall): { token: Address; holder: Address; amount: bigint; nested: Address[] } | null {
  if (functionName === 'retire') {
    const holder = asAddress(plainArg(args, 0), 'retired_by');
    return { token: contract, holder, amount: asBigint(plainArg(args, 1), 'amount'), nested: [] };
  }
  if (functionName === 'initiate_off_ramp') {
    const holder = asAddress(plainArg(args, 0), 'caller');
    const token = asAddress(plainArg(args, 2), 'token');
    return { token, holder, amount: asBigint(plainArg(args, 3), 'amount'), nested: [token] };
  }
  return null;
}

/**
 * The reason why the receipt may not be marked expired, if the contract gives one. The deployed contract marks
 * any receipt at its manager's call.
 * @throws NetworkUnavailable
 */
export async function explainExpiry(
  reads: Pick<ContractReads, 'ask'>,
  token: Address,
): Promise<Refusal | null> {
  const [status, isExpired] = await Promise.all([reads.ask(token, 'status'), reads.ask(token, 'is_expired')]);
  if (status.ok && asEnumName(plain(status.value), 'status') === 'Expired') {
    return { reason: 'WRONG_STATUS', message: `${token} is already Expired` };
  }
  if (isExpired.ok && plain(isExpired.value) === false) {
    return { reason: 'NOT_EXPIRED', message: `${token} has not passed its expiry date by the ledger's time` };
  }
  return null;
}

function sayReason(
  reason: RefusalReason,
  { contract, functionName }: ContractCall,
  error: HostError,
): Refusal {
  return { reason, message: `${contract} refused ${functionName}: ${reason} (${showError(error)})` };
}

function plainArg(args: readonly xdr.ScVal[], index: number): unknown {
  const value = args[index];
  return value === undefined ? undefined : plain(value);
}
