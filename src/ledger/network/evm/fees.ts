/**
 * Calculates EIP-1559 fees from the market, never above the operator's cap.
 */
import { largest, smallest } from '../../../lib/bigints.ts';
import { NetworkUnavailable } from '../port.ts';
import type { Block } from './node.ts';

/** Wei per gas. */
export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Wei per gas. */
export interface FeeMarket {
  baseFee: bigint;
  /** The tip that block producers expect, by the node's estimate. */
  priorityFee: bigint;
}

/** Tip for nodes without `eth_maxPriorityFeePerGas`; most producers accept it. */
const CUSTOMARY_PRIORITY_FEE = 10n ** 9n;

/** The finding of a check for a chain without base fees, which no fee setting fixes. */
export const NO_BASE_FEE = {
  found:
    'its blocks have no base fee, so it takes legacy transactions only, which this platform does not sign',
  remedy: 'Use a chain that has the London upgrade (EIP-1559), or let this one have it.',
};

/** @throws NetworkUnavailable on a chain without base fees */
export function feeMarketOf(latest: Block, priorityFee: bigint | null): FeeMarket {
  if (latest.baseFeePerGas === undefined) {
    throw new NetworkUnavailable(
      `The chain cannot be written to: ${NO_BASE_FEE.found}. ${NO_BASE_FEE.remedy}`,
    );
  }
  return { baseFee: latest.baseFeePerGas, priorityFee: priorityFee ?? CUSTOMARY_PRIORITY_FEE };
}

/**
 * Twice the base fee suffices for six full blocks in a row, each of which raises it by an eighth.
 * @throws NetworkUnavailable while the base fee is above the cap, because the transaction could not land
 */
export function feesUnderCap(market: FeeMarket, cap: bigint): Fees {
  const { baseFee, priorityFee } = market;
  if (baseFee > cap) {
    throw new NetworkUnavailable(
      `The network's base fee is ${baseFee} wei per gas, above the cap of ${cap}: waiting for it to fall`,
    );
  }
  const maxFeePerGas = smallest(2n * baseFee + priorityFee, cap);
  return { maxFeePerGas, maxPriorityFeePerGas: smallest(priorityFee, maxFeePerGas) };
}

/**
 * True if the base fee leaves a tip more than a quarter below the expected one. A smaller gap is noise in the
 * node's estimate.
 */
export function isUnderpriced(offered: Fees, market: FeeMarket): boolean {
  const tip = smallest(offered.maxPriorityFeePerGas, offered.maxFeePerGas - market.baseFee);
  return tip * 4n < market.priorityFee * 3n;
}

/** Fees that replace `offered`; null if the cap is too low for them. */
export function replacementFees(offered: Fees, market: FeeMarket, cap: bigint): Fees | null {
  const least = { maxFee: oneStepUp(offered.maxFeePerGas), tip: oneStepUp(offered.maxPriorityFeePerGas) };
  if (least.maxFee > cap || market.baseFee > cap) return null;
  const maxFeePerGas = smallest(largest(least.maxFee, 2n * market.baseFee + market.priorityFee), cap);
  const maxPriorityFeePerGas = smallest(largest(least.tip, market.priorityFee), maxFeePerGas);
  return maxPriorityFeePerGas < least.tip ? null : { maxFeePerGas, maxPriorityFeePerGas };
}

/** Nodes require a replacement to raise both fees by a tenth or an eighth. */
function oneStepUp(fee: bigint): bigint {
  return (fee * 9n) / 8n + 1n;
}
