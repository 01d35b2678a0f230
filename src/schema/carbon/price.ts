/**
 * What a purchase costs.
 */
import { timesWhole } from '../../lib/decimals.ts';
import type { Price } from '../../resolvers/carbon/projectPrices.ts';
import type { Money } from '../core/money.ts';

/** Exact: nothing is rounded to what the currency can be paid in. */
export function totalOf(price: Price | null, tonnes: bigint): Money | null {
  return price && { amount: timesWhole(price.amount, tonnes), currency: price.currency };
}
