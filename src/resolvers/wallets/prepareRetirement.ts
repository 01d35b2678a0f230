/**
 * prepareRetirement: retires credits at a holder's own address, by the holder's signature. The books do not contain
 * these credits, so nothing is held; the token's record shows the holder as retiredBy.
 *
 *   checks ─▶ unsigned transaction, stored ─▶ (signed by the wallet) ─▶ submitSigned
 */
import { BASE_UNITS_PER_WHOLE, toBaseUnits } from '../../ledger/units.ts';
import type { Needs } from '../core/dependencies.ts';
import { findHolderAct, type HolderAct } from './findHolderAct.ts';
import { requireProjectByToken, requireTokenAddress } from '../carbon/findProject.ts';
import { insufficientBalance } from '../carbon/insufficientBalance.ts';
import { findFirstUseOrBegin, reserveKey, type IdempotentRequest } from '../core/idempotency.ts';
import { limitUnsigned } from './limitUnsigned.ts';
import { prepareAct, requireHolder, storeAct } from './prepareAct.ts';

export interface PrepareRetirementInput {
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  /** The address that holds the credits and signs. */
  holder: string;
  /** A free-text label for the public record, not an address. */
  beneficiary: string;
  note: string;
  idempotencyKey: string;
}

/**
 * @returns the act that the first use of the key prepared, in its present state.
 * @throws DomainError NOT_FOUND, BAD_USER_INPUT, INSUFFICIENT_BALANCE, IDEMPOTENCY_CONFLICT, RATE_LIMITED; NetworkRefusal,
 * NetworkUnavailable
 */
export async function prepareRetirement(
  deps: Needs<'db' | 'network' | 'clock' | 'ids'>,
  callerSubject: string,
  input: PrepareRetirementInput,
): Promise<HolderAct> {
  const { idempotencyKey: key, ...rest } = input;
  const tokenAddress = requireTokenAddress(deps, input.tokenAddress);
  const holder = deps.network.normalizeAddress(input.holder) ?? input.holder;
  const asked = { ...rest, tokenAddress, holder };
  const request = { callerSubject, operation: 'prepareRetirement', key, input: asked };
  // The first use may itself have spent the balance.
  const id = await findFirstUseOrBegin(deps.db, request, () => prepare(deps, request, input));
  const act = await findHolderAct(deps, id);
  if (!act) throw new Error(`holder's act ${id} has vanished`);
  return act;
}

async function prepare(
  deps: Needs<'db' | 'network' | 'clock' | 'ids'>,
  request: IdempotentRequest,
  input: PrepareRetirementInput,
): Promise<string> {
  const { id: projectId, tokenAddress } = await requireProjectByToken(deps, input.tokenAddress);
  const holder = requireHolder(deps, input.holder);
  await limitUnsigned(deps, request.callerSubject);
  await requireBalance(deps, tokenAddress, holder, input.amountCO2e);
  const { beneficiary, note } = input;
  const act = await prepareAct(deps, {
    call: { kind: 'retire', tokenAddress, amount: toBaseUnits(input.amountCO2e), beneficiary, note },
    holder,
    preparedBy: request.callerSubject,
    projectId,
  });
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, act.id, deps.clock.now());
    if (first !== null) return first;
    await storeAct(tx, act);
    return act.id;
  });
}

async function requireBalance(
  deps: Needs<'network'>,
  tokenAddress: string,
  holder: string,
  tonnes: bigint,
): Promise<void> {
  const balance = await deps.network.balanceOf(tokenAddress, holder);
  if (balance >= toBaseUnits(tonnes)) return;
  const available = balance / BASE_UNITS_PER_WHOLE;
  throw insufficientBalance({ verb: 'retired', holder, tokenAddress, requested: tonnes, available });
}
