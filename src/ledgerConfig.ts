/**
 * What the configured ledger network needs, made of its settings (ledgerSettings.ts). ledgerContradictions.ts
 * has seen them before.
 */
import type { z } from 'zod';
import type { LEDGER_SETTINGS } from './ledgerSettings.ts';
import type { LedgerFamily } from './settingRules.ts';

export type LedgerSettingName = keyof typeof LEDGER_SETTINGS;
export type LedgerValues = {
  [Name in LedgerSettingName]: z.output<(typeof LEDGER_SETTINGS)[Name]['schema']>;
};
export type LedgerNetworkName = LedgerValues['LEDGER_NETWORK'];

interface EmbeddedLedger {
  family: 'embedded';
}

/** What the networks with a node have in common. */
interface RealLedger {
  name: string;
  /** May hold a provider's key: never shown whole. */
  rpcUrl: string;
  secretKey: string;
  factoryAddress: string;
  settlementFactoryAddress: string | undefined;
  settlementAddress: string | undefined;
  requestTimeoutMs: number;
}

export interface StellarLedger extends RealLedger {
  family: 'stellar';
  passphrase: string;
  channelSecretKeys: readonly string[];
  maxInclusionFeeStroops: number;
}

export interface EvmLedger extends RealLedger {
  family: 'evm';
  chainId: number;
  finality: 'finalized' | { confirmations: number };
  maxFeePerGasCap: bigint;
  maxOpenPerAccount: number;
}

export type LedgerConfig = EmbeddedLedger | StellarLedger | EvmLedger;

const TESTNET_PASSPHRASE = 'Test SDF Network ; September 2015';
export const MAINNET_PASSPHRASE = 'Public Global Stellar Network ; September 2015';
const TESTNET_RPC_URL = 'https://soroban-testnet.stellar.org';

/** What is known of a network by its name. Of Stellar's mainnet nobody offers a node to everybody. */
export const KNOWN_NETWORKS: Record<
  LedgerNetworkName,
  { family: LedgerFamily; passphrase?: string; rpcUrl?: string }
> = {
  embedded: { family: 'embedded' },
  'ledger-testnet': { family: 'stellar', passphrase: TESTNET_PASSPHRASE, rpcUrl: TESTNET_RPC_URL },
  'stellar-testnet': { family: 'stellar', passphrase: TESTNET_PASSPHRASE, rpcUrl: TESTNET_RPC_URL },
  'stellar-mainnet': { family: 'stellar', passphrase: MAINNET_PASSPHRASE },
  stellar: { family: 'stellar' },
  evm: { family: 'evm' },
};

export function ledgerConfigOf(values: LedgerValues, secretKey: string): LedgerConfig {
  const name = values.LEDGER_NETWORK;
  const { family } = KNOWN_NETWORKS[name];
  if (family === 'embedded') return { family };
  const common: RealLedger = {
    name,
    rpcUrl: values.LEDGER_RPC_URL ?? KNOWN_NETWORKS[name].rpcUrl ?? '',
    secretKey,
    factoryAddress: values.LEDGER_FACTORY_ADDRESS ?? '',
    settlementFactoryAddress: values.LEDGER_SETTLEMENT_FACTORY_ADDRESS,
    settlementAddress: values.RAMP_SETTLEMENT_ADDRESS,
    requestTimeoutMs: values.LEDGER_TIMEOUT_MS,
  };
  if (family === 'evm') {
    return {
      family,
      ...common,
      chainId: values.LEDGER_CHAIN_ID ?? 0,
      finality: values.LEDGER_FINALITY,
      maxFeePerGasCap: values.LEDGER_MAX_FEE_GWEI,
      maxOpenPerAccount: values.LEDGER_MAX_OPEN_TRANSACTIONS,
    };
  }
  return {
    family,
    ...common,
    passphrase: values.LEDGER_PASSPHRASE ?? KNOWN_NETWORKS[name].passphrase ?? '',
    channelSecretKeys: values.LEDGER_CHANNEL_SECRET_KEYS ?? [],
    maxInclusionFeeStroops: values.LEDGER_MAX_INCLUSION_FEE_STROOPS,
  };
}
