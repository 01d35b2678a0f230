/**
 * Amounts of XLM: what an account keeps, what a write costs, and how an amount is shown.
 */

const STROOPS_PER_XLM = 10_000_000n;
/** What an account without entries of its own must keep. */
export const RESERVE_STROOPS = STROOPS_PER_XLM;
/** The approximate cost of a retirement with headroom in its footprint. */
export const STROOPS_PER_WRITE = 1_000_000n;

export function showXlm(stroops: bigint): string {
  const fraction = String(stroops % STROOPS_PER_XLM)
    .padStart(7, '0')
    .replace(/0+$/, '');
  return `${stroops / STROOPS_PER_XLM}${fraction === '' ? '' : `.${fraction}`}`;
}
