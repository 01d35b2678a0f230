/**
 * The settings that only EVM chains have, and the adapter's configuration.
 */
import * as z from 'zod';
import { setting, text, wholeNumber } from '../../../lib/settingRules.ts';
import { leadsToThisMachine } from '../../../lib/hosts.ts';
import {
  configureNode,
  type GivenSettings,
  type NodeLedger,
  type OwnSettings,
  type ValuesOf,
} from '../family.ts';
import type { FinalitySetting } from './finality.ts';

const WEI_PER_GWEI_DIGITS = 9;
const WEI_PER_COIN_DIGITS = 18;

const finality = z.union(
  [z.literal('finalized'), wholeNumber(0, 10_000).transform((confirmations) => ({ confirmations }))],
  { error: 'must be finalized, or a number of confirmations up to 10000' },
);
const gwei = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,9})?$/, 'must be a decimal number of gwei')
  .transform((text) => weiOf(text, WEI_PER_GWEI_DIGITS))
  .refine((wei) => wei > 0n, 'must be more than 0');
const coins = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,18})?$/, "must be a decimal number of the chain's own coin")
  .transform((text) => weiOf(text, WEI_PER_COIN_DIGITS));

function weiOf(decimal: string, digits: number): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(digits, '0'));
}

export const EVM_SETTINGS = {
  LEDGER_CHAIN_ID: setting(
    wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
    null,
    'The chain id, for LEDGER_NETWORK=evm.',
    { after: 'LEDGER_RPC_URL' },
  ),
  LEDGER_FIRST_BLOCK: setting(
    wholeNumber(0, Number.MAX_SAFE_INTEGER),
    '0',
    'The block on EVM that the factory was deployed in, or the earlier of both factories: searches begin there. Set it where the ' +
      'chain is long and the node answers narrow ranges of blocks.',
    { after: 'LEDGER_FACTORY_ADDRESS' },
  ),
  LEDGER_FINALITY: setting(
    finality,
    'finalized',
    'When an EVM transaction counts as final: "finalized" asks the chain, a number waits for so many blocks on top (0 ' +
      'where blocks are final at once).',
    { after: 'LEDGER_SECRET_KEY' },
  ),
  LEDGER_MAX_FEE_GWEI: setting(
    gwei,
    '200',
    'The most that a unit of gas may cost on EVM, in gwei. Writes that would cost more wait.',
    { after: 'LEDGER_SECRET_KEY' },
  ),
  LEDGER_MAX_DEPLOYMENT_FEE_COINS: setting(
    coins,
    '0.1',
    "The most that a factory on EVM may ask for one deployment, in the chain's own coin. One that asks for more is held for review.",
    { after: 'LEDGER_SECRET_KEY' },
  ),
  LEDGER_ERROR_ABI_FILE: setting(
    text.optional(),
    null,
    "A JSON file with the ABI of the deployed EVM contracts' own errors: refusals then have their names.",
    { after: 'LEDGER_SECRET_KEY' },
  ),
  LEDGER_MAX_OPEN_TRANSACTIONS: setting(
    wholeNumber(1, 1000),
    '16',
    'Transactions that may wait at the EVM node at a time; nodes keep 16 of one account for certain.',
    { after: 'LEDGER_SECRET_KEY' },
  ),
} as const satisfies OwnSettings;

/**
 * The best known mainnets, whose tokens have a value: Ethereum, OP, BNB, Gnosis, Polygon, Base, Arbitrum, Celo, Avalanche.
 */
const MAINNET_CHAIN_IDS: ReadonlySet<number> = new Set([1, 10, 56, 100, 137, 8453, 42_161, 42_220, 43_114]);

/** A node on this machine is a copy of the chain, without real money. */
export function nameOfMainnet({ network, values }: GivenSettings<typeof EVM_SETTINGS>): string | null {
  const { LEDGER_RPC_URL: url, LEDGER_CHAIN_ID: chainId } = values;
  if (url !== undefined && leadsToThisMachine(url)) return null;
  if (chainId === undefined || !MAINNET_CHAIN_IDS.has(chainId)) return null;
  return `LEDGER_NETWORK=${network} and LEDGER_CHAIN_ID=${chainId}`;
}

type EvmValues = ValuesOf<typeof EVM_SETTINGS>;

export interface EvmLedger extends NodeLedger {
  family: 'evm';
  chainId: number;
  /** No factory is older than this block; identity.ts verifies that. */
  firstBlock: bigint;
  finality: FinalitySetting;
  /** Wei per gas. */
  maxFeePerGasCap: bigint;
  /** Wei; the maximum fee that a factory may charge for one deployment. */
  maxDeploymentFee: bigint;
  /** JSON with the ABI of further contract errors. */
  errorAbiFile: string | undefined;
  maxOpenPerAccount: number;
  /**
   * How long until a reorganisation of final blocks is confirmed. Not a setting: only tests set it, for a
   * chain whose nodes never lag.
   */
  reorgConfirmedAfterMs?: number;
}

export function configureEvm(network: string, values: EvmValues): EvmLedger {
  return {
    ...configureNode(network, values),
    family: 'evm',
    chainId: values.LEDGER_CHAIN_ID ?? 0,
    firstBlock: BigInt(values.LEDGER_FIRST_BLOCK),
    finality: values.LEDGER_FINALITY,
    maxFeePerGasCap: values.LEDGER_MAX_FEE_GWEI,
    maxDeploymentFee: values.LEDGER_MAX_DEPLOYMENT_FEE_COINS,
    errorAbiFile: values.LEDGER_ERROR_ABI_FILE,
    maxOpenPerAccount: values.LEDGER_MAX_OPEN_TRANSACTIONS,
  };
}
