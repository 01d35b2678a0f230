/**
 * prepareRetirement: credits at a holder's own address are to be put out of circulation for ever, by the holder's own
 * signature. The books know nothing of them, and hold nothing; the token's record shows the holder as who retired.
 *
 *   checks ─▶ unsigned transaction, stored ─▶ (signed by the wallet) ─▶ submitSigned
 */
import { DomainError } from '../errors.ts';
import { BASE_UNITS_PER_WHOLE, toBaseUnits } from '../ledger/units.ts';
import type { Dependencies } from './dependencies.ts';
import { findHolderAct, type HolderAct } from './findHolderAct.ts';
import { requireProjectByToken } from './findProject.ts';
import { findFirstUse, reserveKey, type IdempotentRequest } from './idempotency.ts';
import { prepareAct, requireHolder, storeAct } from './prepareAct.ts';

export interface PrepareRetirementInput {
  tokenAddress: string;
  /** Whole tonnes. */
  amountCO2e: bigint;
  /** Whose credits they are, and who signs. */
  holder: string;
  /** A free-text label for the public record, not an address. */
  beneficiary: string;
  note: string;
  idempotencyKey: string;
}

/**
 * @returns the act that the first use of the key prepared, in the state that it has come to.
 * @throws DomainError NOT_FOUND, BAD_USER_INPUT, INSUFFICIENT_BALANCE, IDEMPOTENCY_CONFLICT; NetworkRefusal,
 * NetworkUnavailable
 */
export async function prepareRetirement(
  deps: Dependencies,
  callerId: string,
  input: PrepareRetirementInput,
): Promise<HolderAct> {
  const { idempotencyKey: key, ...rest } = input;
  const request = { callerId, operation: 'prepareRetirement', key, input: rest };
  // Before the checks: a balance that its own retirement has used up is no reason to refuse it.
  const id = (await findFirstUse(deps.db, request)) ?? (await prepare(deps, request, input));
  const act = await findHolderAct(deps, id);
  if (!act) throw new Error(`holder's act ${id} has vanished`);
  return act;
}

async function prepare(
  deps: Dependencies,
  request: IdempotentRequest,
  input: PrepareRetirementInput,
): Promise<string> {
  const { id: projectId, tokenAddress } = await requireProjectByToken(
    deps,
    input.tokenAddress,
    'input.tokenAddress',
  );
  const holder = requireHolder(deps, input.holder);
  await requireBalance(deps, tokenAddress, holder, input.amountCO2e);
  const { beneficiary, note } = input;
  const act = await prepareAct(deps, {
    call: { kind: 'retire', tokenAddress, amount: toBaseUnits(input.amountCO2e), beneficiary, note },
    holder,
    preparedBy: request.callerId,
    projectId,
  });
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, act.id, act.createdAt);
    if (first !== null) return first;
    await storeAct(tx, act);
    return act.id;
  });
}

async function requireBalance(
  deps: Dependencies,
  tokenAddress: string,
  holder: string,
  tonnes: bigint,
): Promise<void> {
  const balance = await deps.network.balanceOf(tokenAddress, holder);
  if (balance >= toBaseUnits(tonnes)) return;
  const available = balance / BASE_UNITS_PER_WHOLE;
  throw new DomainError(
    'INSUFFICIENT_BALANCE',
    `${tonnes} tonnes were to be retired, but ${holder} holds ${available} whole tonnes of token ${tokenAddress}.`,
    { field: 'input.amountCO2e', requested: tonnes.toString(), available: available.toString() },
  );
}
