/**
 * What `npm run ledger:check` looks at on an EVM chain, beyond what the port can tell: the node's abilities, the
 * factories, and whether the custody signer can pay for and is allowed what the platform does.
 */
import { randomUUID } from 'node:crypto';
import { formatEther, formatGwei } from 'viem';
import { lookAt, right, worse, wrong, type Check } from '../check.ts';
import type { NetworkCall } from '../port.ts';
import { MULTICALL3_ADDRESS } from './contracts.ts';
import type { ContractAddresses } from './contracts.ts';
import { estimateCall } from './draft.ts';
import { encodeCall } from './encodeCall.ts';
import { createFinality } from './finality.ts';
import type { Finality } from './finality.ts';
import { feeMarketOf } from './fees.ts';
import { createJsonRpc, valueOf } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { addressOption, contractsOf } from './options.ts';
import type { EvmNetworkOptions } from './options.ts';
import { ask } from './questions.ts';
import { ZERO_HASH } from '../../units.ts';
import { createSigner } from './signing.ts';
import type { Signer } from './signing.ts';
import { refusalAt, simulationOf } from './simulation.ts';

interface Looking {
  options: EvmNetworkOptions;
  rpc: JsonRpc;
  finality: Finality;
  contracts: ContractAddresses;
  signer: Signer;
}

/** A retirement with a long note; other writes but deploys take less. */
const GAS_PER_WRITE = 300_000n;
/** Fewer writes than these are a reason to fund the signer now. */
const FEW_WRITES = 100n;

/** @throws Error when the key or an address is none */
export async function* checkEvmNetwork(options: EvmNetworkOptions): AsyncGenerator<Check> {
  const rpc = createJsonRpc({ url: options.rpcUrl, timeoutMs: options.requestTimeoutMs });
  const finality = createFinality(rpc, options.finality);
  const signer = createSigner(options.secretKey, options.chainId);
  const looking = { options, rpc, finality, contracts: contractsOf(options), signer };
  const looks: [string, (looking: Looking) => Promise<Check>][] = [
    ['batches', lookAtBatches],
    ['finality', lookAtFinality],
    ['multicall', lookAtMulticall],
    ['fees', lookAtFees],
    ['funds', lookAtFunds],
    ['token factory', lookAtFactory],
    ['settlement factory', lookAtSettlementFactory],
    ['settlement roles', lookAtRoles],
  ];
  for (const [subject, look] of looks) yield await lookAt(subject, () => look(looking));
}

async function lookAtBatches({ rpc }: Looking): Promise<Check> {
  await rpc.askTogether([ask.chainId(), ask.block('latest')]);
  if (!rpc.takesBatches()) {
    return worse(
      'batches',
      'the node answers one question at a time: all takes longer',
      'Use a node, or a plan of its provider, that takes JSON-RPC batches.',
    );
  }
  return right('batches', 'the node answers several questions at once');
}

async function lookAtFinality({ options, finality }: Looking): Promise<Check> {
  const { final, latest } = await finality.pin();
  const setting =
    options.finality === 'finalized'
      ? 'by the chain’s own word'
      : `after ${options.finality.confirmations} further blocks`;
  return right(
    'finality',
    `${setting}: block ${final.number}, ${latest.number - final.number} below the latest`,
  );
}

async function lookAtMulticall({ options, rpc }: Looking): Promise<Check> {
  const address = addressOption('multicallAddress', options.multicallAddress) ?? MULTICALL3_ADDRESS;
  if ((await rpc.ask(ask.code(address, 'latest'))) !== '0x') return right('multicall', address);
  return worse(
    'multicall',
    `nothing stands at ${address}: many tokens are read by batches of single calls`,
    'Nothing has to be done; Multicall3 makes large reads faster where it is deployed.',
  );
}

async function lookAtFees({ options, rpc }: Looking): Promise<Check> {
  const [block, tip] = await rpc.askTogether([ask.block('latest'), ask.priorityFee()]);
  const latest = valueOf(block);
  if (latest === null) return wrong('fees', 'the node has no latest block');
  const { baseFee, priorityFee } = feeMarketOf(latest, 'value' in tip ? tip.value : null);
  const cap = options.maxFeePerGasCap;
  const found = `${formatGwei(baseFee)} gwei and a tip of ${formatGwei(priorityFee)}, under a cap of ${formatGwei(cap)}`;
  if (baseFee + priorityFee <= cap) return right('fees', found);
  return wrong(
    'fees',
    `${formatGwei(baseFee + priorityFee)} gwei, above the cap of ${formatGwei(cap)}: writes wait`,
  );
}

async function lookAtFunds({ options, rpc, signer }: Looking): Promise<Check> {
  const balance = await rpc.ask(ask.balance(signer.address, 'latest'));
  const writes = balance / (GAS_PER_WRITE * options.maxFeePerGasCap);
  const found = `${signer.address} has ${formatEther(balance)}, enough for ${writes} writes at the highest fee`;
  if (balance === 0n) return wrong('funds', found, 'Send it some of the chain’s own currency.');
  return writes < FEW_WRITES
    ? worse('funds', found, 'Send it more of the chain’s own currency.')
    : right('funds', found);
}

async function lookAtFactory(looking: Looking): Promise<Check> {
  const { factory } = looking.contracts;
  const { simulation, gas } = await estimateCall(looking, TRIAL_DEPLOY, looking.signer.address);
  const fee = simulation.request.value ?? 0n;
  return right(
    'token factory',
    `${factory} would deploy a token for ${gas} gas and a fee of ${formatEther(fee)}`,
  );
}

async function lookAtSettlementFactory(looking: Looking): Promise<Check> {
  const { settlementFactory } = looking.contracts;
  if (settlementFactory === null) return right('settlement factory', 'none is configured');
  const call: NetworkCall = {
    kind: 'deployRampSettlement',
    salt: ZERO_HASH,
    treasury: looking.signer.address,
  };
  await estimateCall(looking, call, looking.signer.address);
  return right('settlement factory', `${settlementFactory} would deploy a settlement contract`);
}

/** Tried on a reference that nobody used: who may not, is told so; who may, that there is nothing to resolve. */
async function lookAtRoles({ rpc, contracts, signer }: Looking): Promise<Check> {
  const { settlement } = contracts;
  if (settlement === null) return right('settlement roles', 'no settlement contract is configured');
  for (const kind of ['confirmOffRampSettlement', 'refundOffRamp'] as const) {
    const call: NetworkCall = { kind, sessionId: randomUUID() };
    const encoded = encodeCall(contracts, signer.address, call);
    const refusal = await refusalAt(rpc, simulationOf(call, encoded, signer.address), 'latest');
    if (refusal !== null && refusal.reason !== 'WRONG_STATUS') {
      return wrong('settlement roles', `custody may not ${kind} at ${settlement}: ${refusal.message}`);
    }
  }
  return right('settlement roles', 'custody may confirm and refund deposits');
}

/** Simulated only. */
const TRIAL_DEPLOY: NetworkCall = {
  kind: 'deployCarbonCredit',
  salt: ZERO_HASH,
  name: 'Trial',
  symbol: 'TRIAL',
  assetId: 'trial',
  countryCode: 'XX',
  metadata: {
    creditType: 'trial',
    verificationBodyRef: 'trial',
    vintageYear: 2024,
    quantityCO2e: 1n,
    projectLocation: 'nowhere',
    projectType: 'trial',
    verificationDocHash: ZERO_HASH,
    lastUpdated: 0n,
  },
};
