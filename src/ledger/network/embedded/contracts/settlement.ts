/**
 * The settlement contract: holds an off-ramp session's tokens until the payout is known.
 *
 *   (none) ──deposit, by the depositor──▶ PENDING ──confirm, by the admin──▶ SETTLED   (to the treasury)
 *                                            └─────refund, by the admin──▶ REFUNDED  (to the depositor)
 *
 * A reference can be used only once, ever. A paused contract neither takes nor releases deposits.
 */
import type { Address } from '../../port.ts';
import { hashText } from '../addresses.ts';
import type { Invocation } from '../calls.ts';
import { offRampKey, type SettlementState, type World } from '../world.ts';
import { eventOf, refuse } from './effects.ts';
import type { Context, Effects } from './effects.ts';
import { moveTokens, requireAdmin, requirePositive, requireToken } from './tokens.ts';

type Deposit = Extract<Invocation, { kind: 'depositOffRamp' }>;
type Resolve = Extract<Invocation, { kind: 'confirmOffRampSettlement' | 'refundOffRamp' }>;

/**
 * Takes the caller's tokens; `amount` is in base units.
 * @throws NetworkRefusal CONTRACT_NOT_FOUND, PAUSED, ZERO_AMOUNT, REFERENCE_ALREADY_USED,
 * INSUFFICIENT_BALANCE
 */
export function depositOffRamp(world: World, context: Context, call: Deposit): Effects {
  const settlement = requireSettlement(world, call.settlementAddress);
  requireRunning(settlement);
  requirePositive(call.amount);
  const referenceId = hashText(call.sessionId);
  if (world.offRamps.get(offRampKey({ settlementAddress: settlement.address, referenceId }))) {
    refuse(
      'REFERENCE_ALREADY_USED',
      `The reference ${referenceId} of session ${call.sessionId} was used before`,
    );
  }
  const token = requireToken(world, call.tokenAddress);
  const moved = moveTokens(world, token, {
    from: context.source,
    to: settlement.address,
    amount: call.amount,
  });
  world.offRamps.put({
    settlementAddress: settlement.address,
    referenceId,
    depositor: context.source,
    tokenAddress: token.address,
    amount: call.amount,
    status: 'PENDING',
  });
  return {
    result: { kind: 'done' },
    events: [
      moved,
      eventOf(
        settlement.address,
        'offinit',
        [referenceId],
        [context.source, token.address, String(call.amount), call.sessionId],
      ),
    ],
  };
}

/**
 * Releases a PENDING deposit: to the treasury, or back to the depositor.
 * @throws NetworkRefusal CONTRACT_NOT_FOUND, UNAUTHORIZED, PAUSED, WRONG_STATUS
 */
export function resolveOffRamp(world: World, context: Context, call: Resolve): Effects {
  const settlement = requireSettlement(world, call.settlementAddress);
  const confirming = call.kind === 'confirmOffRampSettlement';
  requireAdmin(settlement.admin, context, confirming ? 'confirm a settlement' : 'refund a deposit');
  requireRunning(settlement);
  const referenceId = hashText(call.sessionId);
  const offRamp = world.offRamps.get(offRampKey({ settlementAddress: settlement.address, referenceId }));
  if (offRamp?.status !== 'PENDING') {
    const status = offRamp?.status ?? 'unknown to the contract';
    refuse('WRONG_STATUS', `The deposit of session ${call.sessionId} is ${status}, not PENDING`);
  }
  const to = confirming ? settlement.treasury : offRamp.depositor;
  const token = requireToken(world, offRamp.tokenAddress);
  const moved = moveTokens(world, token, { from: settlement.address, to, amount: offRamp.amount });
  world.offRamps.put({ ...offRamp, status: confirming ? 'SETTLED' : 'REFUNDED' });
  const eventType = confirming ? 'offsettl' : 'offrfnd';
  const resolved = [token.address, String(offRamp.amount)];
  return {
    result: { kind: 'done' },
    events: [moved, eventOf(settlement.address, eventType, [referenceId], resolved)],
  };
}

function requireSettlement(world: World, address: Address): SettlementState {
  return (
    world.settlements.get(address) ??
    refuse('CONTRACT_NOT_FOUND', `No settlement contract stands at ${address}`)
  );
}

function requireRunning(settlement: SettlementState): void {
  if (settlement.paused) refuse('PAUSED', `The settlement contract ${settlement.address} is paused`);
}
