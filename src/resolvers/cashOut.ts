/**
 * cashOut: a farmer's receipt tokens go from custody to the settlement contract, and fiat to the farmer.
 *
 *   checks ─▶ quote ─▶ session OPENING, its reference and quote stored (one transaction)
 *          ─▶ opened at the provider ─▶ deposited ─▶ the provider pays, or not ─▶ released, or refunded
 *
 * What follows the stored intent is in stepCashOut.ts (the provider) and settlementEffects.ts (the network), and
 * goes on whether anyone waits or not. Receipts at the farmer's own address: prepareCashOutDeposit.ts.
 */
import { beginCashOut, type CashOutCaller, type CashOutInput } from './beginCashOut.ts';
import type { Dependencies } from './dependencies.ts';
import type { CashOut, CashOutState } from './findCashOut.ts';

/** The rest of a cash-out takes as long as the payout does; nobody waits for that. */
const UNDER_WAY: ReadonlySet<CashOutState> = new Set(['OPENING', 'DEPOSITING', 'CLOSING']);

/**
 * @returns the session in the state reached when the wait ended: AWAITING_PAYOUT or further, or still on its way.
 * @throws like beginCashOut
 */
export async function cashOut(
  deps: Dependencies,
  caller: CashOutCaller,
  input: CashOutInput,
): Promise<CashOut> {
  return beginCashOut(deps, caller, { operation: 'cashOut', input, holder: null, waitWhile: UNDER_WAY });
}
