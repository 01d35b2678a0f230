/**
 * Chains whose coin is money.
 */
import { leadsToThisMachine } from '../../../lib/privateHost.ts';
import type { GivenSettings } from '../family.ts';
import type { EVM_SETTINGS } from './settings.ts';

/** Of the best known chains that hold money: Ethereum, OP, BNB, Gnosis, Polygon, Base, Arbitrum, Celo, Avalanche. */
const MONEY_CHAIN_IDS: ReadonlySet<number> = new Set([1, 10, 56, 100, 137, 8453, 42_161, 42_220, 43_114]);

/** A node on this machine is a copy of the chain, for trying out. */
export function nameOfMoneyChain({ network, values }: GivenSettings<typeof EVM_SETTINGS>): string | null {
  const { LEDGER_RPC_URL: url, LEDGER_CHAIN_ID: chainId } = values;
  if (url !== undefined && leadsToThisMachine(url)) return null;
  if (chainId === undefined || !MONEY_CHAIN_IDS.has(chainId)) return null;
  return `LEDGER_NETWORK=${network} and LEDGER_CHAIN_ID=${chainId}`;
}
