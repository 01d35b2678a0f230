/**
 * Amounts of XLM: what an account keeps, what a write costs, and how an amount is shown.
 */

export const STROOPS_PER_XLM = 10_000_000n;
/** What an account must keep twice, and once more for each entry of its own, such as a trustline or a further signer. */
export const RESERVE_STROOPS = STROOPS_PER_XLM / 2n;
/** The approximate cost of a retirement with headroom in its footprint. */
export const STROOPS_PER_WRITE = 1_000_000n;

export function showXlm(stroops: bigint): string {
  const fraction = String(stroops % STROOPS_PER_XLM)
    .padStart(7, '0')
    .replace(/0+$/, '');
  return `${stroops / STROOPS_PER_XLM}${fraction === '' ? '' : `.${fraction}`}`;
}
