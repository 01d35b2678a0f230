/**
 * The options of an EVM network: the configuration, and additions to it.
 */
import type { Address } from 'viem';
import type { SeenLedgers } from '../seenLedgers.ts';
import { normalizeAddress } from './addresses.ts';
import type { ContractAddresses } from './contracts.ts';
import type { AbiError } from './errorAbi.ts';
import type { EvmLedger } from './settings.ts';

export interface EvmNetworkOptions extends Omit<EvmLedger, 'family'> {
  /** What was final before this process started; unknown without it. */
  seenLedgers?: SeenLedgers | undefined;
  log?: { warn(fields: object, message: string): void } | undefined;
}

/** @throws Error if one of them is no address */
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
function addressOption(name: string, text: string | undefined): Address | null {
  if (text === undefined) return null;
  const address = normalizeAddress(text);
  if (address) return address;
  throw new Error(
    `${name} is ${text.slice(0, 100)}, which is no address: 0x and 40 hexadecimal digits, with a right checksum if in mixed case`,
  );
}
