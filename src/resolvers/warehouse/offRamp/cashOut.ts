/**
 * cashOut: moves a farmer's receipt tokens from custody to the settlement contract, and fiat money to the
 * farmer.
 *
 *   checks ─▶ quote ─▶ session OPENING, its reference and quote stored (one transaction)
 *          ─▶ opened at the provider ─▶ deposited ─▶ the provider pays, or not ─▶ released, or refunded
 *
 * The steps after the stored intent are in stepOffRampSession.ts (the provider) and offRampEffects.ts (the
 * network). They run whether or not a client waits. For receipts at the farmer's own address, see
 * prepareCashOutDeposit.ts.
 */
import { beginCashOut, type BeginCashOutNeeds, type CashOutInput } from './beginCashOut.ts';
import type { ReceiptCaller } from '../findReceipt.ts';
import type { OffRampSession, OffRampState } from './findOffRampSession.ts';

/**
 * States in which the caller waits. The rest of an off-ramp session takes as long as the payout, and no
 * caller waits for that.
 */
const UNDER_WAY: ReadonlySet<OffRampState> = new Set(['OPENING', 'DEPOSITING', 'CLOSING']);

/**
 * @returns the session in the state reached when the wait ended: AWAITING_PAYOUT or further, or still on its
 *   way.
 * @throws like beginCashOut
 */
export async function cashOut(
  deps: BeginCashOutNeeds,
  caller: ReceiptCaller,
  input: CashOutInput,
): Promise<OffRampSession> {
  return beginCashOut(deps, caller, { operation: 'cashOut', input, holder: null, waitWhile: UNDER_WAY });
}
