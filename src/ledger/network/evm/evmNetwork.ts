/**
 * An EVM chain behind the port: any chain id, any node that speaks JSON-RPC.
 *
 * The library encodes, signs and decodes; it never numbers, retries or waits. Nonces are the database's, what
 * was sent is decided by final blocks alone (outcome.ts), and every read belongs to one of them (finality.ts).
 */
import { NetworkRefusal, NetworkUnavailable } from '../port.ts';
import type { Address, LedgerNetwork } from '../port.ts';
import { hashText, normalizeAddress } from './addresses.ts';
import { broadcastBytes } from './broadcast.ts';
import { createReadAll } from './bulkReads.ts';
import { MULTICALL3_ADDRESS } from './contracts.ts';
import { createDeployments } from './deployments.ts';
import { draftCall, readNextSequences } from './draft.ts';
import { createFinality } from './finality.ts';
import { createJsonRpc } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { addressOption, contractsOf } from './options.ts';
import type { EvmNetworkOptions } from './options.ts';
import { outbid } from './outbid.ts';
import { outcomeOf } from './outcome.ts';
import { ask } from './questions.ts';
import { createSettlementReads } from './settlementReads.ts';
import { createSigner } from './signing.ts';
import { createTokenReads } from './tokenReads.ts';
import { openSigned, prepareForHolder } from './wallets.ts';

export type EvmNetwork = LedgerNetwork;

/** Nodes keep 16 transactions of an account for certain; a few more than that are dropped only when they are full. */
const DEFAULT_MAX_OPEN = 16;

/**
 * Asks the node for nothing but its first block, and does without the answer when it is away.
 * @throws Error when the key or an address is none
 */
export async function createEvmNetwork(options: EvmNetworkOptions): Promise<EvmNetwork> {
  const { chainId, maxFeePerGasCap } = options;
  const contracts = contractsOf(options);
  const signer = createSigner(options.secretKey, chainId);
  const rpc = createJsonRpc({ url: options.rpcUrl, timeoutMs: options.requestTimeoutMs });
  const finality = createFinality(rpc, options.finality);
  const multicall = addressOption('multicallAddress', options.multicallAddress) ?? MULTICALL3_ADDRESS;
  const readAll = createReadAll(rpc, multicall);
  const deployments = createDeployments({
    rpc,
    contracts,
    custodyAddress: signer.address,
    firstBlock: options.firstBlock ?? 0n,
  });
  const tokens = createTokenReads(finality, readAll);
  const settlements = createSettlementReads({ rpc, finality, contracts, readAll, deployments });
  const drafting = { rpc, finality, contracts, signer, maxFeePerGasCap };
  const networkId = await readNetworkId(rpc, options);

  async function tokenAt(text: string): ReturnType<LedgerNetwork['tokenAt']> {
    const address = normalizeAddress(text);
    if (address === null) return null;
    const token = await finality.onFinalBlock((pin) => deployments.tokenAt(address, pin));
    return token && { template: token.template, assetIdHash: token.assetIdHash };
  }

  async function findToken(assetId: string): Promise<Address | null> {
    const hash = hashText(assetId);
    const token = await finality.onFinalBlock((pin) => deployments.ownTokenOf(hash, pin));
    return token && token.tokenAddress;
  }

  async function status(): ReturnType<LedgerNetwork['status']> {
    const { final } = await finality.pin();
    // Blocks are kept for ever; what a node pruned shows when it is needed.
    return { ledger: final.number, closedAt: final.timestamp, oldestLedger: 0n };
  }

  return {
    name: options.name,
    networkId,
    custodyAddress: signer.address,
    normalizeAddress,
    status: () => answered(status()),
    signingOrder: {
      accounts: [signer.address],
      maxOpenPerAccount: options.maxOpenPerAccount ?? DEFAULT_MAX_OPEN,
    },
    nextSequences: (by) => answered(readNextSequences(drafting, by)),
    draft: (call) => answered(draftCall(drafting, call)),
    broadcast: (signedBytes) => answered(broadcastBytes(rpc, signedBytes)),
    outcome: (sent) => answered(outcomeOf({ rpc, finality, contracts }, sent)),
    outbid: (latest) => answered(outbid(drafting, latest)),
    prepareForHolder: (call, holder) => answered(prepareForHolder({ ...drafting, chainId }, call, holder)),
    openSigned: (call, unsigned, signed) =>
      answered(openSigned({ rpc, contracts, chainId }, call, unsigned, signed)),
    hashAssetId: hashText,
    // Where a contract will stand depends on all that the factory deployed before.
    predictTokenAddress: () => null,
    findToken: ({ assetId }) => answered(findToken(assetId)),
    tokenAt: (address) => answered(tokenAt(address)),
    carbonTotals: (address) => answered(tokens.carbonTotals(address)),
    retirementRecords: (address, from, limit) => answered(tokens.retirementRecords(address, from, limit)),
    retirementCountsOf: (addresses) => answered(tokens.retirementCountsOf(addresses)),
    totalSupply: (address) => answered(tokens.totalSupply(address)),
    balanceOf: (address, holder) => answered(tokens.balanceOf(address, holder)),
    expiryOf: (addresses) => answered(tokens.expiryOf(addresses)),
    settlementContract: () => answered(settlements.settlementContract()),
    offRampDeposit: (sessionId) => answered(settlements.offRampDeposit(sessionId)),
    depositsNeedApproval: true,
    checkDeposit: (call, depositor) => answered(settlements.checkDeposit(call, depositor)),
  };
}

/**
 * Chain ids tell public chains apart; of development chains there are many with the same one, so the hash of the
 * first block is added where the node is there to tell it.
 */
async function readNetworkId(
  rpc: JsonRpc,
  { chainId, log }: Pick<EvmNetworkOptions, 'chainId' | 'log'>,
): Promise<string> {
  const id = `eip155:${chainId}`;
  try {
    const genesis = await rpc.ask(ask.block(0n));
    return genesis ? `${id}:${genesis.hash}` : id;
  } catch (error) {
    log?.warn({ err: error, chainId }, 'the node does not tell its first block: known by its chain id alone');
    return id;
  }
}

/** Anything but the network's own word means that it could not be asked. */
async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isOfPort = error instanceof NetworkRefusal || error instanceof NetworkUnavailable;
    if (isOfPort || error instanceof RangeError) throw error;
    const message = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new NetworkUnavailable(`The EVM node did not answer: ${message}`, { cause: error });
  }
}
