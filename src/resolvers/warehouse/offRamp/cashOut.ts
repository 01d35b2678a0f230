/**
 * cashOut: a farmer's receipt tokens go from custody to the settlement contract, and fiat to the farmer.
 *
 *   checks ─▶ quote ─▶ session OPENING, its reference and quote stored (one transaction)
 *          ─▶ opened at the provider ─▶ deposited ─▶ the provider pays, or not ─▶ released, or refunded
 *
 * What follows the stored intent is in stepOffRampSession.ts (the provider) and offRampEffects.ts (the network), and
 * goes on whether or not a client waits. Receipts at the farmer's own address: prepareCashOutDeposit.ts.
 */
import { beginCashOut, type BeginCashOutNeeds, type CashOutInput } from './beginCashOut.ts';
import type { ReceiptCaller } from '../findReceipt.ts';
import type { OffRampSession, OffRampState } from './findOffRampSession.ts';

/** The rest of an off-ramp session takes as long as the payout does; no caller waits for that. */
const UNDER_WAY: ReadonlySet<OffRampState> = new Set(['OPENING', 'DEPOSITING', 'CLOSING']);

/**
 * @returns the session in the state reached when the wait ended: AWAITING_PAYOUT or further, or still on its way.
 * @throws like beginCashOut
 */
export async function cashOut(
  deps: BeginCashOutNeeds,
  caller: ReceiptCaller,
  input: CashOutInput,
): Promise<OffRampSession> {
  return beginCashOut(deps, caller, { operation: 'cashOut', input, holder: null, waitWhile: UNDER_WAY });
}
