/**
 * What landing costs: EIP-1559 fees by the market, never above the operator's cap.
 */
import { NetworkUnavailable } from '../port.ts';
import type { Block } from './questions.ts';

/** Wei per gas. */
export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Wei per gas. */
export interface FeeMarket {
  baseFee: bigint;
  /** What block producers expect on top, by the node's estimate. */
  priorityFee: bigint;
}

/** For nodes that don't know `eth_maxPriorityFeePerGas`: what most producers take. */
const CUSTOMARY_PRIORITY_FEE = 10n ** 9n;

/** @throws NetworkUnavailable on a chain without base fees */
export function feeMarketOf(latest: Block, priorityFee: bigint | null): FeeMarket {
  if (latest.baseFeePerGas === undefined) {
    throw new NetworkUnavailable(
      'The chain has no base fee: transactions of EIP-1559 are not to be had there',
    );
  }
  return { baseFee: latest.baseFeePerGas, priorityFee: priorityFee ?? CUSTOMARY_PRIORITY_FEE };
}

/**
 * Twice the base fee pays for six full blocks in a row, in each of which it rises by an eighth.
 * @throws NetworkUnavailable while the network is dearer than the cap: nothing is signed that can't land
 */
export function feesUnderCap(market: FeeMarket, cap: bigint): Fees {
  const { baseFee, priorityFee } = market;
  if (baseFee > cap) {
    throw new NetworkUnavailable(
      `The network's base fee is ${baseFee} wei per gas, above the cap of ${cap}: waiting for it to fall`,
    );
  }
  const maxFeePerGas = smaller(2n * baseFee + priorityFee, cap);
  return { maxFeePerGas, maxPriorityFeePerGas: smaller(priorityFee, maxFeePerGas) };
}

/**
 * Whether the market passes by what was offered: the base fee leaves it a tip that is a quarter below what
 * producers expect. Less than that is the noise of the node's estimate, and no reason to pay more.
 */
export function isUnderpriced(offered: Fees, market: FeeMarket): boolean {
  const tip = smaller(offered.maxPriorityFeePerGas, offered.maxFeePerGas - market.baseFee);
  return tip * 4n < market.priorityFee * 3n;
}

/** Fees that take the place of `offered`; null when the cap leaves no room for the step. */
export function outbiddingFees(offered: Fees, market: FeeMarket, cap: bigint): Fees | null {
  const least = { maxFee: oneStepUp(offered.maxFeePerGas), tip: oneStepUp(offered.maxPriorityFeePerGas) };
  if (least.maxFee > cap || market.baseFee > cap) return null;
  const maxFeePerGas = smaller(larger(least.maxFee, 2n * market.baseFee + market.priorityFee), cap);
  const maxPriorityFeePerGas = smaller(larger(least.tip, market.priorityFee), maxFeePerGas);
  return maxPriorityFeePerGas < least.tip ? null : { maxFeePerGas, maxPriorityFeePerGas };
}

/** Nodes ask for a tenth or an eighth more, of both fees, before they let go of what they have. */
function oneStepUp(fee: bigint): bigint {
  return (fee * 9n) / 8n + 1n;
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
