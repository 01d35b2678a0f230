/**
 * An EVM chain behind the port: any chain id, any node that speaks JSON-RPC.
 *
 * viem encodes, signs and decodes; it never chooses nonces, retries or waits. Nonces come from the database,
 * outcomes only from final blocks (outcome.ts), and every read belongs to a final block (finality.ts).
 */
import { messageOf } from '../../../lib/errors.ts';
import type { CreatedNetwork } from '../family.ts';
import type { LedgerNetwork } from '../port.ts';
import { explainFailures } from '../wrapNetwork.ts';
import { hashText, normalizeAddress } from './addresses.ts';
import { broadcastBytes } from './broadcast.ts';
import { createReadAll } from './contractReads.ts';
import { createDeployments } from './deployments.ts';
import { draftCall, readNextSequences } from './draft.ts';
import { readErrorAbi } from './errorAbi.ts';
import { createFinality } from './finality.ts';
import { createJsonRpc, RpcError } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { createLogSearch } from './logSearch.ts';
import { contractsOf } from './options.ts';
import type { EvmNetworkOptions } from './options.ts';
import { signReplacement } from './replacement.ts';
import { createReorgDetector } from './reorgDetector.ts';
import { createOutcomes } from './outcome.ts';
import { ask } from './node.ts';
import { retirementTransactions } from './retirementTransactions.ts';
import { createSettlementReads } from './settlementReads.ts';
import { createSigner } from './signing.ts';
import { createTokenReads } from './tokenReads.ts';
import { mayBeTransient } from './transientErrors.ts';
import { openSigned, prepareForHolder } from './wallets.ts';

export type EvmNetwork = LedgerNetwork & Pick<CreatedNetwork, 'idProblem'>;

/**
 * Asks the node only for its first block, and works without the answer if the node is down.
 * @throws Error if the key or an address is invalid
 */
export async function createEvmNetwork(options: EvmNetworkOptions): Promise<EvmNetwork> {
  const { chainId, maxFeePerGasCap, maxDeploymentFee, firstBlock } = options;
  const contracts = contractsOf(options, await readErrorAbi(options.errorAbiFile));
  const signer = createSigner(options.secretKey, chainId);
  const rpc = createJsonRpc({ url: options.rpcUrl, timeoutMs: options.requestTimeoutMs });
  const reorgs = createReorgDetector({ confirmedAfterMs: options.reorgConfirmedAfterMs });
  const finality = createFinality(rpc, options.finality, options.seenLedgers, reorgs);
  const readAll = createReadAll(rpc);
  const deployments = createDeployments({ rpc, contracts, custodyAddress: signer.address, firstBlock });
  const drafting = { rpc, finality, contracts, signer, maxFeePerGasCap, maxDeploymentFee };
  const tracing = { rpc, finality, search: createLogSearch(rpc), firstBlock };
  const { networkId, idProblem } = await readNetworkId(rpc, options);

  const network: LedgerNetwork = {
    name: options.name,
    networkId,
    custodyAddress: signer.address,
    normalizeAddress,
    async status() {
      const { final } = await finality.pin();
      // Assumes that the node keeps all blocks; missing history shows when it is needed.
      return { ledger: final.number, closedAt: final.timestamp, oldestLedger: 0n };
    },
    continuity: () => finality.continuity(),
    presentHistory: () => finality.presentHistory(),
    signingOrder: { accounts: [signer.address], maxOpenPerAccount: options.maxOpenPerAccount },
    nextSequences: (by) => readNextSequences(drafting, by),
    draft: (call) => draftCall(drafting, call),
    broadcast: (signedBytes) => broadcastBytes(rpc, signedBytes),
    outcome: createOutcomes({ rpc, finality, contracts }),
    replace: (latest) => signReplacement(drafting, latest),
    prepareForHolder: (call, holder) => prepareForHolder({ ...drafting, chainId }, call, holder),
    openSigned: (...given) => openSigned({ rpc, contracts, chainId }, ...given),
    async findToken({ assetId }) {
      const token = await finality.onFinalBlock((pin) => deployments.ownTokenOf(hashText(assetId), pin));
      return token && token.tokenAddress;
    },
    tokensDeployedSince: async (ledger) => deployments.ownTokensSince(ledger ?? 0n, await finality.pin()),
    ...createTokenReads(finality, readAll),
    retirementTransactions: (address, wanted) => retirementTransactions(tracing, address, wanted),
    ...createSettlementReads({ rpc, finality, contracts, readAll, deployments }),
    depositsNeedAllowance: true,
  };
  return {
    ...explainFailures(network, (error) => `The EVM node did not answer: ${messageOf(error).split('\n')[0]}`),
    idProblem,
  };
}

/**
 * The chain id, plus the hash of the first block if the node shows it. Public chains have distinct chain ids,
 * but many development chains share one.
 */
async function readNetworkId(
  rpc: JsonRpc,
  { chainId, log }: Pick<EvmNetworkOptions, 'chainId' | 'log'>,
): Promise<{ networkId: string; idProblem?: unknown }> {
  const id = `eip155:${chainId}`;
  try {
    const genesis = await rpc.ask(ask.block(0n));
    return { networkId: genesis ? `${id}:${genesis.hash}` : id };
  } catch (error) {
    log?.warn({ err: error, chainId }, 'the node does not show its first block: known by its chain id alone');
    const mayPass = !(error instanceof RpcError) || mayBeTransient(error);
    return { networkId: id, ...(mayPass ? { idProblem: error } : {}) };
  }
}
