/**
 * The options of an EVM network: the configuration, and additions to it.
 */
import type { SeenLedgers } from '../seenLedgers.ts';
import { requireAddress } from './addresses.ts';
import type { ContractAddresses } from './contracts.ts';
import type { AbiError } from './errorAbi.ts';
import type { EvmLedger } from './settings.ts';

export interface EvmNetworkOptions extends Omit<EvmLedger, 'family'> {
  /** What was final before this process started; unknown without it. */
  seenLedgers?: SeenLedgers | undefined;
  log?: { warn(fields: object, message: string): void } | undefined;
}

/** @throws NetworkRefusal if one of them is no address */
export function contractsOf(
  options: Pick<EvmNetworkOptions, 'factoryAddress' | 'settlementFactoryAddress' | 'settlementAddress'>,
  errors: readonly AbiError[],
): ContractAddresses {
  const given = (text: string | undefined) => (text === undefined ? null : requireAddress(text));
  return {
    factory: requireAddress(options.factoryAddress),
    settlementFactory: given(options.settlementFactoryAddress),
    settlement: given(options.settlementAddress),
    errors,
  };
}
