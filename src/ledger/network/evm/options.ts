/**
 * The options of an EVM network, as the configuration gives them.
 */
import type { Address } from 'viem';
import type { SeenLedgers } from '../seenLedgers.ts';
import { normalizeAddress } from './addresses.ts';
import type { ContractAddresses } from './contracts.ts';
import type { AbiError } from '../../../lib/errorAbi.ts';
import type { FinalitySetting } from './finality.ts';

/** Wei: a tenth of the chain's own coin. Factories charge nothing today. */
export const DEFAULT_MAX_DEPLOYMENT_FEE = 10n ** 17n;

export interface EvmNetworkOptions {
  name: string;
  /** May hold a provider's key: never shown. */
  rpcUrl: string;
  chainId: number;
  /** The custody signer's private key, 0x and 64 hexadecimal digits. */
  secretKey: string;
  factoryAddress: string;
  settlementFactoryAddress?: string | undefined;
  settlementAddress?: string | undefined;
  finality: FinalitySetting;
  /** Wei per gas. */
  maxFeePerGasCap: bigint;
  /** Wei; the most that a factory may ask for one deployment. */
  maxDeploymentFee?: bigint | undefined;
  maxOpenPerAccount?: number | undefined;
  requestTimeoutMs: number;
  /** The address of Multicall3, where it is not the usual one. */
  multicallAddress?: string | undefined;
  /** No factory is older than this block; identity.ts holds it. */
  firstBlock?: bigint | undefined;
  /** What was final before this process started; unknown without it. */
  seenLedgers?: SeenLedgers | undefined;
  /** How long another block in place of a final one is doubted; rewriteDoubt.ts says how long without it. */
  rewriteBelievedAfterMs?: number | undefined;
  /** JSON with the ABI of further contract errors. */
  errorAbiFile?: string | undefined;
  log?: { warn(fields: object, message: string): void } | undefined;
}

/** @throws Error when one of them is no address */
export function contractsOf(
  options: Pick<EvmNetworkOptions, 'factoryAddress' | 'settlementFactoryAddress' | 'settlementAddress'>,
  errors: readonly AbiError[],
): ContractAddresses {
  const factory = addressOption('factoryAddress', options.factoryAddress);
  if (factory === null) throw new Error('factoryAddress is missing');
  return {
    factory,
    settlementFactory: addressOption('settlementFactoryAddress', options.settlementFactoryAddress),
    settlement: addressOption('settlementAddress', options.settlementAddress),
    errors,
  };
}

/** Null when it is left out. @throws Error when it is no address */
export function addressOption(name: string, text: string | undefined): Address | null {
  if (text === undefined) return null;
  const address = normalizeAddress(text);
  if (address) return address;
  throw new Error(
    `${name} is ${text.slice(0, 100)}, which is no address: 0x and 40 hexadecimal digits, with a right checksum if in mixed case`,
  );
}
