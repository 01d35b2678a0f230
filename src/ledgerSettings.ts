/**
 * The settings of the ledger network: which one it is, where its node is, who signs, and what it may cost.
 * ledgerConfig.ts makes of them what the configured network needs.
 */
import { z } from 'zod';
import { httpUrl, list, setting, text, wholeNumber, type LedgerFamily } from './settingRules.ts';

/** The networks that this build speaks. */
export const LEDGER_NETWORKS = [
  'embedded',
  'ledger-testnet',
  'stellar-testnet',
  'stellar-mainnet',
  'stellar',
  'evm',
] as const;

/** Where nothing is embedded: a node is asked, and writing costs fees. */
const REAL: readonly LedgerFamily[] = ['stellar', 'evm'];

const WEI_PER_GWEI_DIGITS = 9;
/** Their sequences are read in one question, which holds 200 accounts. Each channel writes every five seconds. */
export const MAX_CHANNELS = 200;

const stellarSecretKey = /^S[A-Z2-7]{55}$/;
const evmSecretKey = /^0x[0-9a-fA-F]{64}$/;

/** Credentials in an address end up in messages and logs, and fetch refuses them. */
const nodeUrl = httpUrl.refine(
  (url) => !URL.canParse(url) || new URL(url).username + new URL(url).password === '',
  'must hold no user and password; a key belongs into the path, or into a proxy in front',
);
const secretKey = z
  .string()
  .refine(
    (key) => stellarSecretKey.test(key) || evmSecretKey.test(key),
    'must be an S… secret key of 56 characters, or on EVM 0x and 64 hexadecimal digits',
  );
const channelKeys = list
  .refine((keys) => keys.length <= MAX_CHANNELS, `must be at most ${MAX_CHANNELS} keys`)
  .refine(
    (keys) => keys.every((key) => stellarSecretKey.test(key)),
    'must be S… secret keys of 56 characters, separated by commas',
  );
const finality = z.union(
  [z.literal('finalized'), wholeNumber(0, 10_000).transform((confirmations) => ({ confirmations }))],
  { error: 'must be finalized, or a number of confirmations up to 10000' },
);
const gwei = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,9})?$/, 'must be a decimal number of gwei')
  .transform(weiOf)
  .refine((wei) => wei > 0n, 'must be more than 0');

function weiOf(decimalGwei: string): bigint {
  const [whole = '', fraction = ''] = decimalGwei.split('.');
  return BigInt(whole + fraction.padEnd(WEI_PER_GWEI_DIGITS, '0'));
}

export const LEDGER_SETTINGS = {
  LEDGER_NETWORK: setting(
    z.enum(LEDGER_NETWORKS, { error: `must be one of: ${LEDGER_NETWORKS.join(', ')}` }),
    'embedded',
    'The ledger network that tokens live on: embedded, ledger-testnet (also called stellar-testnet), stellar-mainnet, ' +
      'stellar (any, by url and passphrase), evm (any, by url and chain id).',
  ),
  LEDGER_RPC_URL: setting(
    nodeUrl.optional(),
    null,
    "The network's node: Stellar RPC, or EVM JSON-RPC. Default on the Stellar testnet: https://soroban-testnet.stellar.org.",
    // Providers put their customer's key into the path.
    { secret: true, onlyOn: REAL },
  ),
  LEDGER_PASSPHRASE: setting(
    text.optional(),
    null,
    "The Stellar network's passphrase, for LEDGER_NETWORK=stellar; the named networks' is known.",
    { onlyOn: ['stellar'] },
  ),
  LEDGER_CHAIN_ID: setting(
    wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
    null,
    'The chain id, for LEDGER_NETWORK=evm.',
    { onlyOn: ['evm'] },
  ),
  LEDGER_FACTORY_ADDRESS: setting(
    text.optional(),
    null,
    'The deployed token factory. Required on a real network.',
    { onlyOn: REAL },
  ),
  LEDGER_SETTLEMENT_FACTORY_ADDRESS: setting(
    text.optional(),
    null,
    'The deployed factory of settlement contracts, which deployRampSettlement needs on a real network.',
    { onlyOn: REAL },
  ),
  LEDGER_SECRET_KEY: setting(
    secretKey.optional(),
    null,
    "Secret key of the platform's custody signer: S…, on EVM 0x…. Default on the embedded network: generated under DATA_DIR.",
    { secret: true },
  ),
  LEDGER_CHANNEL_SECRET_KEYS: setting(
    channelKeys.optional(),
    null,
    'Secret keys of Stellar channel accounts, separated by commas: that many writes can be under way at a time. ' +
      'Default: none, one write per ledger. Made by npm run ledger:channels.',
    { secret: true, onlyOn: ['stellar'] },
  ),
  LEDGER_FINALITY: setting(
    finality,
    'finalized',
    'When an EVM transaction counts as final: "finalized" asks the chain, a number waits for so many blocks on top (0 ' +
      'where blocks are final at once).',
    { onlyOn: ['evm'] },
  ),
  LEDGER_MAX_FEE_GWEI: setting(
    gwei,
    '200',
    'The most that a unit of gas may cost on EVM, in gwei. Dearer writes wait.',
    { onlyOn: ['evm'] },
  ),
  LEDGER_MAX_OPEN_TRANSACTIONS: setting(
    wholeNumber(1, 1000),
    '16',
    'Transactions that may wait at the EVM node at a time; nodes keep 16 of one account for certain.',
    { onlyOn: ['evm'] },
  ),
  LEDGER_MAX_INCLUSION_FEE_STROOPS: setting(
    wholeNumber(100, 1_000_000_000),
    '1000000',
    'The most that is offered for the inclusion of a Stellar transaction (10,000,000 stroops are 1 XLM). Dearer writes wait.',
    { onlyOn: ['stellar'] },
  ),
  LEDGER_TIMEOUT_MS: setting(
    wholeNumber(500, 120_000),
    '10000',
    'How long one question to the node of a real network may take.',
    { onlyOn: REAL },
  ),
  TREASURY_ADDRESS: setting(
    text.optional(),
    null,
    "Where credits are minted to. Must be the custody signer's address, which is the default: it burns from its own balance.",
  ),
  RAMP_SETTLEMENT_ADDRESS: setting(
    text.optional(),
    null,
    'The deployed settlement contract. Default on the embedded network: the one it has from the start; elsewhere none, and no cash-outs.',
  ),
} as const;
