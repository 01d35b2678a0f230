/**
 * Amounts of XLM: what an account keeps, what a write costs, and how an amount is shown.
 */

const STROOPS_PER_XLM = 10_000_000n;
/** What an account must keep twice, and once more for each entry of its own, such as a trustline or a further signer. */
export const RESERVE_STROOPS = STROOPS_PER_XLM / 2n;
/**
 * With less, what an account signs may be left out by the network and signed again, until too many attempts have died. The dearest write
 * that restores nothing is a deploy with the longest texts: at the public network's rents it declares 0.7 XLM, and bids 0.1 at most by
 * default. What costs more, custody pays for (draft.ts).
 */
export const LEAST_SPENDABLE_STROOPS = STROOPS_PER_XLM;

/** Whether an account signs. */
export function hasEnoughToSign(spendableStroops: bigint): boolean {
  return spendableStroops >= LEAST_SPENDABLE_STROOPS;
}

/** The approximate cost of a retirement with headroom in its footprint. */
export const STROOPS_PER_WRITE = 1_000_000n;

export function showXlm(stroops: bigint): string {
  const fraction = String(stroops % STROOPS_PER_XLM)
    .padStart(7, '0')
    .replace(/0+$/, '');
  return `${stroops / STROOPS_PER_XLM}${fraction === '' ? '' : `.${fraction}`}`;
}
