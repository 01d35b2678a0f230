/**
 * Reads the supply of tokens of either template, and the balances of addresses: of many tokens in one
 * statement.
 */
import { and, eq } from 'drizzle-orm';
import type { Db } from '../../../db/connection.ts';
import { isOneOf } from '../../../db/manyRows.ts';
import { noTokenAt } from '../port.ts';
import type { Address, AmountAnswer, BaseUnits, LedgerNetwork } from '../port.ts';
import { requireTokenCount } from '../port/readLimits.ts';
import { balances, tokens } from './tables.ts';

type AmountReads = Pick<LedgerNetwork, 'totalSupply' | 'totalSuppliesOf' | 'balanceOf' | 'balancesOf'>;

/** Amounts of the tokens that exist; null for a token of which the holder has no balance. */
type Amounts = readonly { address: Address; amount: BaseUnits | null }[];

export function createAmountReads(db: Db): AmountReads {
  const suppliesOf = (addresses: readonly Address[]): PromiseLike<Amounts> =>
    db
      .select({ address: tokens.address, amount: tokens.totalSupply })
      .from(tokens)
      .where(isOneOf(tokens.address, addresses));
  const balancesOf = (addresses: readonly Address[], holder: Address): PromiseLike<Amounts> =>
    db
      .select({ address: tokens.address, amount: balances.amount })
      .from(tokens)
      .leftJoin(balances, and(eq(balances.tokenAddress, tokens.address), eq(balances.holder, holder)))
      .where(isOneOf(tokens.address, addresses));
  return {
    totalSupply: async (address) => onlyAmount(address, await suppliesOf([address])),
    async totalSuppliesOf(addresses) {
      requireTokenCount(addresses.length);
      return answersOf(addresses, await suppliesOf(addresses));
    },
    balanceOf: async (address, holder) => onlyAmount(address, await balancesOf([address], holder)),
    async balancesOf(addresses, holder) {
      requireTokenCount(addresses.length);
      return answersOf(addresses, await balancesOf(addresses, holder));
    },
  };
}

function onlyAmount(address: Address, [found]: Amounts): BaseUnits {
  if (found === undefined) throw noTokenAt(address);
  return found.amount ?? 0n;
}

function answersOf(addresses: readonly Address[], found: Amounts): AmountAnswer[] {
  const amounts = new Map(found.map(({ address, amount }) => [address, amount ?? 0n]));
  return addresses.map((tokenAddress) => {
    const amount = amounts.get(tokenAddress);
    return amount === undefined ? { tokenAddress, error: noTokenAt(tokenAddress) } : { tokenAddress, amount };
  });
}
