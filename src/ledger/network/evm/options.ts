/**
 * What an EVM network is made of, as the configuration gives it.
 */
import type { Address } from 'viem';
import { normalizeAddress } from './addresses.ts';
import type { ContractAddresses } from './contracts.ts';
import type { FinalitySetting } from './finality.ts';

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
  maxOpenPerAccount?: number | undefined;
  requestTimeoutMs: number;
  /** Where Multicall3 stands, if not where it does on most chains. */
  multicallAddress?: string | undefined;
  /** The factory is not older than this block. */
  firstBlock?: bigint | undefined;
  log?: { warn(fields: object, message: string): void } | undefined;
}

/** @throws Error when one of them is no address */
export function contractsOf(
  options: Pick<EvmNetworkOptions, 'factoryAddress' | 'settlementFactoryAddress' | 'settlementAddress'>,
): ContractAddresses {
  const factory = addressOption('factoryAddress', options.factoryAddress);
  if (factory === null) throw new Error('factoryAddress is missing');
  return {
    factory,
    settlementFactory: addressOption('settlementFactoryAddress', options.settlementFactoryAddress),
    settlement: addressOption('settlementAddress', options.settlementAddress),
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
