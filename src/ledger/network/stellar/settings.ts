/**
 * The settings that only Stellar has, the known values of its named networks, and the adapter's
 * configuration.
 */
import { list, setting, text, wholeNumber } from '../../../lib/settingRules.ts';
import { configureNode, type NodeLedger, type OwnSettings, type ValuesOf } from '../family.ts';
import { STRKEY_SECRET_KEY } from '../strkeySettings.ts';

/**
 * Maximum of channels: one question reads all their sequences, and it may name 200 accounts. Each channel
 * writes every five seconds.
 */
export const MAX_CHANNELS = 200;

const TESTNET_PASSPHRASE = 'Test SDF Network ; September 2015';
export const MAINNET_PASSPHRASE = 'Public Global Stellar Network ; September 2015';
export const TESTNET_RPC_URL = 'https://soroban-testnet.stellar.org';

type StellarNetworkName = 'ledger-testnet' | 'stellar-mainnet' | 'stellar';

/** The mainnet has no public node; `stellar` is any network, by its URL and passphrase. */
export const STELLAR_NETWORKS: Readonly<
  Record<StellarNetworkName, { passphrase?: string; rpcUrl?: string }>
> = {
  'ledger-testnet': { passphrase: TESTNET_PASSPHRASE, rpcUrl: TESTNET_RPC_URL },
  'stellar-mainnet': { passphrase: MAINNET_PASSPHRASE },
  stellar: {},
};

const channelKeys = list
  .refine((keys) => keys.length <= MAX_CHANNELS, `must be at most ${MAX_CHANNELS} keys`)
  .refine(
    (keys) => keys.every((key) => STRKEY_SECRET_KEY.pattern.test(key)),
    'must be S… secret keys of 56 characters, separated by commas',
  );

export const STELLAR_SETTINGS = {
  LEDGER_PASSPHRASE: setting(
    text.optional(),
    null,
    "The Stellar network's passphrase, for LEDGER_NETWORK=stellar; the named networks' is known.",
    { after: 'LEDGER_RPC_URL' },
  ),
  LEDGER_CHANNEL_SECRET_KEYS: setting(
    channelKeys.optional(),
    null,
    'Secret keys of Stellar channel accounts, separated by commas: that many writes can be under way at a time. ' +
      'Default: none, one write per ledger. Made by npm run ledger:channels.',
    { secret: true, after: 'LEDGER_SECRET_KEY' },
  ),
  LEDGER_MAX_INCLUSION_FEE_STROOPS: setting(
    wholeNumber(100, 1_000_000_000),
    '1000000',
    'The most that is bid for each operation of a Stellar transaction to be included (10,000,000 stroops are 1 XLM); a ' +
      'fee bump counts as two. Writes of custody that would cost more wait.',
    { after: 'LEDGER_SECRET_KEY' },
  ),
} as const satisfies OwnSettings;

type StellarValues = ValuesOf<typeof STELLAR_SETTINGS>;

export interface StellarLedger extends NodeLedger {
  family: 'stellar';
  passphrase: string;
  /** Seeds of accounts that lend their sequences: each can land one transaction per ledger. May be empty. */
  channelSecretKeys: readonly string[];
  /** The maximum bid for inclusion, without the resource fee. */
  maxInclusionFeeStroops: number;
}

/** The known values of the network with this name; empty for other names. */
export function knownOf(network: string): { passphrase?: string; rpcUrl?: string } {
  return STELLAR_NETWORKS[network as StellarNetworkName] ?? {};
}

export function configureStellar(network: string, values: StellarValues): StellarLedger {
  const known = knownOf(network);
  return {
    ...configureNode(network, { ...values, LEDGER_RPC_URL: values.LEDGER_RPC_URL ?? known.rpcUrl }),
    family: 'stellar',
    passphrase: values.LEDGER_PASSPHRASE ?? known.passphrase ?? '',
    channelSecretKeys: values.LEDGER_CHANNEL_SECRET_KEYS ?? [],
    maxInclusionFeeStroops: values.LEDGER_MAX_INCLUSION_FEE_STROOPS,
  };
}
