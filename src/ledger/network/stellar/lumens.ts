/**
 * Amounts of XLM: an account's reserve, the cost of a write, and the format of an amount.
 */
import { canonicalDecimal, formatDecimal } from '../../../lib/decimals.ts';

const STROOPS_PER_XLM = 10_000_000n;
/**
 * An account must keep this amount twice, and once more for each of its entries, such as a trustline or a
 * further signer.
 */
export const RESERVE_STROOPS = STROOPS_PER_XLM / 2n;
/**
 * Minimum to sign with: below it, the network may drop an account's transactions, which are signed again
 * until too many attempts have died. The dearest write that restores nothing is a deploy with the longest
 * texts: at the public network's rents it declares 0.7 XLM, and by default bids at most 0.1. Custody pays for
 * transactions that cost more (draft.ts).
 */
export const MIN_SPENDABLE_STROOPS = STROOPS_PER_XLM;

/** Whether an account signs. */
export function hasEnoughToSign(spendableStroops: bigint): boolean {
  return spendableStroops >= MIN_SPENDABLE_STROOPS;
}

/** The approximate cost of a retirement with headroom in its footprint. */
export const STROOPS_PER_WRITE = 1_000_000n;

export function showXlm(stroops: bigint): string {
  return canonicalDecimal(formatDecimal({ units: stroops, scale: 7 }));
}
