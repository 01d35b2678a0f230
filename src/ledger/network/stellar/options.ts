/**
 * The adapter's options, and the parts built from them: the node, the signing keys, the contracts.
 */
import type { Keypair } from '@stellar/stellar-sdk';
import type { Logger } from '../../../lib/logger.ts';
import { singleFlight } from '../../../lib/singleFlight.ts';
import type { Address } from '../port.ts';
import { isContract, keypairOf } from './addresses.ts';
import { createContractReads } from './contractReads.ts';
import type { DraftingDeps } from './draft.ts';
import { createResourceSettings, feeUnderCapStroops } from './fees.ts';
import type { Contracts } from './calls.ts';
import { createNode } from './node.ts';
import { createLargestRecord } from './earlierCalls.ts';
import { createUnfinishedSearches } from './sequenceUse.ts';
import { MAX_CHANNELS, type StellarLedger } from './settings.ts';
import type { SigningKeys } from './signing.ts';

export interface StellarNetworkOptions extends Omit<StellarLedger, 'family'> {
  /** How long signed bytes can land, by the network's clock. */
  validitySeconds?: number | undefined;
  log?: Pick<Logger, 'warn'> | undefined;
  /** Unix time, for Retry-After; the machine's clock by default. */
  nowMs?: (() => number) | undefined;
  /** The clock for the age of a reported ledger; performance.now() by default. */
  elapsedMs?: (() => number) | undefined;
}

/**
 * About 15 ledgers: enough to land in a busy period, and to be sent again at a higher bid. A lost transaction
 * is proved dead, and its slot is free again, within two minutes.
 */
const DEFAULT_VALIDITY_SECONDS = 90;

/** @throws Error for invalid keys and addresses; the message never repeats a key */
export function assembleParts(options: StellarNetworkOptions): DraftingDeps {
  const { passphrase } = options;
  const keys = signingKeysOf(options);
  const node = createNode(options);
  const maxInclusionFeeStroops = BigInt(options.maxInclusionFeeStroops);
  return {
    node,
    reads: createContractReads(node, { passphrase, reader: keys.custody.publicKey() }),
    passphrase,
    contracts: contractsOf(options),
    keys,
    validitySeconds: options.validitySeconds ?? DEFAULT_VALIDITY_SECONDS,
    maxInclusionFeeStroops,
    resourceSettings: createResourceSettings(node),
    shared: {
      presentState: singleFlight(() => node.presentState()),
      inclusionFeeStroops: singleFlight(() => feeUnderCapStroops(node, maxInclusionFeeStroops)),
      largestRecord: createLargestRecord(node),
    },
    unfinishedSearches: createUnfinishedSearches(),
  };
}

function signingKeysOf({ secretKey, channelSecretKeys }: StellarNetworkOptions): SigningKeys {
  if (channelSecretKeys.length > MAX_CHANNELS) {
    throw new Error(`${channelSecretKeys.length} channels are configured; at most ${MAX_CHANNELS} work`);
  }
  const custody = keypairOf(secretKey, 'The custody key');
  const channels = channelSecretKeys.map((key, place) => keypairOf(key, `Channel key ${place + 1}`));
  const sources = channels.length > 0 ? channels : [custody];
  const byAddress = new Map<Address, Keypair>(sources.map((key) => [key.publicKey(), key]));
  if (byAddress.size < sources.length) throw new Error('The same channel key is configured twice');
  if (channels.length > 0 && byAddress.has(custody.publicKey())) {
    throw new Error('The custody key is configured as a channel too: channels are accounts of their own');
  }
  return { custody, sources: byAddress };
}

function contractsOf(options: StellarNetworkOptions): Contracts {
  const given = (address: string | undefined, what: string) =>
    address ? requireContract(address, what) : null;
  return {
    passphrase: options.passphrase,
    factoryAddress: requireContract(options.factoryAddress, 'The token factory'),
    settlementFactoryAddress: given(options.settlementFactoryAddress, 'The settlement factory'),
    settlementAddress: given(options.settlementAddress, 'The settlement contract'),
  };
}

function requireContract(address: string, what: string): Address {
  if (isContract(address)) return address;
  throw new Error(`${what}'s address is "${address}"; expected a contract's, "C" and 55 more characters`);
}
