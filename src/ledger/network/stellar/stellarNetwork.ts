/**
 * A Stellar network behind the port: the contracts of the interface, spoken to through one RPC node.
 *
 * What custody does goes out in transactions whose source is custody itself or one of its channels; the caller
 * owns the sequences (signing.ts, drafting.ts). What landed, and what can't any more, is told by outcomes.ts.
 */
import type { Keypair } from '@stellar/stellar-sdk';
import type { Logger } from '../../../logger.ts';
import { NetworkUnavailable } from '../port.ts';
import type { Address, Hash32, LedgerNetwork, NetworkCall } from '../port.ts';
import { readNextSequences } from './accounts.ts';
import { deployedAddress, hashText, isContract, keypairOf, normalizeAddress } from './addresses.ts';
import { broadcastBytes, outbidLatest } from './broadcasting.ts';
import { createContractReads } from './contractReads.ts';
import { draftCall, simulateCall } from './drafting.ts';
import type { DraftingDeps } from './drafting.ts';
import { createResourceSettings } from './fees.ts';
import type { Contracts } from './invocations.ts';
import { createNode } from './node.ts';
import { outcomeOf } from './outcomes.ts';
import { readRecords } from './records.ts';
import { UnexpectedValue } from './scvals.ts';
import { createSettlementReads } from './settlementReads.ts';
import type { SigningKeys } from './signing.ts';
import { tokenAt } from './tokenIdentity.ts';
import { createTokenReads } from './tokenReads.ts';
import { openSigned, prepareForHolder } from './wallets.ts';

export interface StellarNetworkOptions {
  name: string;
  rpcUrl: string;
  passphrase: string;
  /** The custody signer's `S…` seed. */
  secretKey: string;
  /** Seeds of accounts that only lend their sequences: so many transactions land in one ledger. May be empty. */
  channelSecretKeys: readonly string[];
  factoryAddress: Address;
  settlementFactoryAddress?: Address | undefined;
  settlementAddress?: Address | undefined;
  /** The most to bid for a transaction to be included, its resources aside. */
  maxInclusionFeeStroops: number | bigint;
  /** How long signed bytes can land, by the network's clock. */
  validitySeconds?: number | undefined;
  requestTimeoutMs: number;
  log?: Pick<Logger, 'warn'> | undefined;
}

/**
 * About 15 ledgers: time to land in a busy spell and to outbid once, and yet a lost transaction is proved dead, and
 * its slot free again, within two minutes.
 */
const DEFAULT_VALIDITY_SECONDS = 90;
/** As many as one question for their sequences can name. */
const MAX_CHANNELS = 200;

/**
 * Asks nothing of the node yet.
 * @throws Error for keys and addresses that are none; it never repeats a key
 */
export async function createStellarNetwork(options: StellarNetworkOptions): Promise<LedgerNetwork> {
  const { passphrase } = options;
  const keys = signingKeysOf(options);
  const contracts = contractsOf(options);
  const custodyAddress = keys.custody.publicKey();
  const node = createNode(options);
  const reads = createContractReads(node, { passphrase, reader: custodyAddress });
  const tokens = createTokenReads(reads);
  const settlement = createSettlementReads(reads, contracts.settlementAddress);
  const maxInclusionFeeStroops = BigInt(options.maxInclusionFeeStroops);
  const accounts = [...keys.sources.keys()];
  const deps: DraftingDeps = {
    node,
    reads,
    passphrase,
    contracts,
    keys,
    validitySeconds: options.validitySeconds ?? DEFAULT_VALIDITY_SECONDS,
    maxInclusionFeeStroops,
    resourceSettings: createResourceSettings(node),
    warn: warnOnce(options.log),
  };
  const predictTokenAddress = (salt: Hash32) => deployedAddress(passphrase, contracts.factoryAddress, salt);

  async function findToken({ salt }: { salt: Hash32 }): Promise<Address | null> {
    const address = predictTokenAddress(salt);
    return (await reads.exists(address)) ? address : null;
  }

  async function checkDeposit(call: NetworkCall, depositor: Address): Promise<void> {
    await simulateCall(deps, call, depositor, undefined);
  }

  return {
    name: options.name,
    networkId: passphrase,
    custodyAddress,
    normalizeAddress,
    status: async () => {
      const { latestLedger: ledger, closedAt, oldestLedger } = await node.ledgerState();
      return { ledger, closedAt, oldestLedger };
    },
    // The network takes one waiting transaction per account.
    signingOrder: { accounts, maxOpenPerAccount: 1 },
    nextSequences: () => understood(readNextSequences(node, accounts)),
    draft: (call) => understood(draftCall(deps, call)),
    broadcast: (signedBytes) => understood(broadcastBytes(deps, signedBytes)),
    outcome: (sent) => understood(outcomeOf(deps, sent)),
    outbid: (latest) => understood(outbidLatest({ ...deps, custody: keys.custody }, latest)),
    prepareForHolder: (call, holder) => understood(prepareForHolder(deps, call, holder)),
    openSigned: (call, unsigned, signed) => understood(openSigned(deps, call, unsigned, signed)),
    tokenAt: (address) =>
      understood(tokenAt({ node, reads, factoryAddress: contracts.factoryAddress }, address)),
    hashAssetId: hashText,
    predictTokenAddress,
    findToken: (deployed) => understood(findToken(deployed)),
    carbonTotals: async (token) => (await understood(tokens.carbonTotals(token))).totals,
    retirementRecords: (token, from, limit) => understood(readRecords({ node, tokens }, token, from, limit)),
    retirementCountsOf: (addresses) => understood(tokens.retirementCountsOf(addresses)),
    totalSupply: (token) => understood(tokens.totalSupply(token)),
    balanceOf: (token, holder) => understood(tokens.balanceOf(token, holder)),
    expiryOf: (addresses) => understood(tokens.expiryOf(addresses)),
    settlementContract: () => understood(settlement.settlementContract()),
    offRampDeposit: (sessionId) => understood(settlement.offRampDeposit(sessionId)),
    depositsNeedApproval: false,
    checkDeposit: (call, depositor) => understood(checkDeposit(call, depositor)),
  };
}

/** A contract that answers in another form than promised tells nothing. */
async function understood<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof UnexpectedValue)) throw error;
    throw new NetworkUnavailable(`A contract's answer is not understood: ${error.message}`, { cause: error });
  }
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
  return {
    passphrase: options.passphrase,
    factoryAddress: requireContract(options.factoryAddress, 'The token factory'),
    settlementFactoryAddress: options.settlementFactoryAddress
      ? requireContract(options.settlementFactoryAddress, 'The settlement factory')
      : null,
    settlementAddress: options.settlementAddress
      ? requireContract(options.settlementAddress, 'The settlement contract')
      : null,
  };
}

function requireContract(address: string, what: string): Address {
  if (isContract(address)) return address;
  throw new Error(`${what}'s address is "${address}"; expected a contract's, "C" and 55 more characters`);
}

function warnOnce(log: Pick<Logger, 'warn'> | undefined): (message: string) => void {
  let warned = false;
  return (message) => {
    if (!warned) log?.warn(message);
    warned = true;
  };
}
