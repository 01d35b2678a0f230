/**
 * Turns a call into a draft: simulated at the latest block, with gas and fees, to be signed in any slot.
 */
import { formatEther } from 'viem';
import type { Address } from 'viem';
import { largest } from '../../../lib/bigints.ts';
import { retryWhile } from '../retryWhile.ts';
import { NetworkUnavailable, SignerShortOfFunds } from '../port.ts';
import type { Draft, NetworkCall, NextSequences } from '../port.ts';
import type { ContractAddresses } from './contracts.ts';
import { deploymentFeeFor } from './deploymentFee.ts';
import { encodeCall } from './calls.ts';
import type { Finality } from './finality.ts';
import { feeMarketOf, feesUnderCap } from './fees.ts';
import type { FeeMarket } from './fees.ts';
import { RpcError, valueOf, valueOfOptional } from './jsonRpc.ts';
import type { Answer, JsonRpc } from './jsonRpc.ts';
import { ask } from './node.ts';
import type { Block, Syncing } from './node.ts';
import { codeQuestions, judge, refusalAt, refuseFinally, simulationOf } from './simulation.ts';
import type { Simulation } from './simulation.ts';
import type { Signer } from './signing.ts';
import { isBusy, mayBeTransient, valueIfKept } from './transientErrors.ts';

export interface DraftDeps {
  rpc: JsonRpc;
  finality: Finality;
  contracts: ContractAddresses;
  signer: Signer;
  /** Wei per gas. */
  maxFeePerGasCap: bigint;
  /** Wei; the maximum cost of one deployment besides its gas. */
  maxDeploymentFee: bigint;
}

export type EstimateDeps = Pick<DraftDeps, 'rpc' | 'finality' | 'contracts' | 'maxDeploymentFee'>;

/** The gas, fees and funds that the call needs to land, by the latest block. */
interface Estimate {
  simulation: Simulation;
  latest: Block;
  /** The number of the sender's landed transactions: the next nonce. */
  transactionCount: bigint;
  gas: bigint;
  market: FeeMarket;
  /** Wei. */
  senderBalance: bigint;
}

/** @throws NetworkRefusal if the call can't succeed; NetworkUnavailable */
export async function draftCall(deps: DraftDeps, call: NetworkCall): Promise<Draft> {
  const { signer, maxFeePerGasCap } = deps;
  // A node that is behind or on another branch would lead to a nonce that is used already.
  const [estimate] = await Promise.all([
    estimateCall(deps, call, signer.address),
    deps.finality.requireContinuity(),
  ]);
  const { simulation, latest, gas, market, senderBalance } = estimate;
  const fees = feesUnderCap(market, maxFeePerGasCap);
  const value = simulation.request.value ?? 0n;
  requireFunds(signer.address, senderBalance, value + gas * fees.maxFeePerGas);
  const { to, data } = simulation.encoded;
  return {
    async sign(slot) {
      if (slot?.source !== signer.address) {
        const given = slot?.source ?? 'no slot';
        throw new RangeError(`Only ${signer.address} signs here, in a slot of its own; got ${given}`);
      }
      const { source, sequence } = slot;
      const signed = await signer.sign({ nonce: sequence, to, data, value, gas, ...fees });
      return { ...signed, source, sequence, validUntil: null, preparedAtLedger: latest.number };
    },
  };
}

/** @throws NetworkRefusal if the call can't succeed; NetworkUnavailable */
export async function estimateCall(
  deps: EstimateDeps,
  call: NetworkCall,
  sender: Address,
): Promise<Estimate> {
  const { rpc, finality, contracts } = deps;
  const encoded = encodeCall(contracts, sender, call);
  const simulation = simulationOf(encoded, sender, await deploymentFeeFor(deps, encoded));
  const [block, called, estimated, count, tip, balance, ...codes] = await retryWhile(
    ([answer]) => finality.isBehind(answer),
    () =>
      rpc.askTogether([
        ask.block('latest'),
        ask.call(simulation.request, 'latest'),
        ask.gasFor(simulation.request, 'latest'),
        ask.transactionCount(sender, 'latest'),
        ask.priorityFee(),
        ask.balance(sender, 'latest'),
        ...codeQuestions(simulation, 'latest'),
      ]),
  );
  const latest = valueOf(block);
  if (latest === null) throw new NetworkUnavailable('The node has no latest block');
  const market = feeMarketOf(latest, valueOfOptional(tip));
  const senderBalance = valueOf(balance);
  // Nodes refuse, with an error of their own, to execute a value that the sender does not have.
  requireFunds(sender, senderBalance, simulation.request.value ?? 0n);
  const refusal = await judge(rpc, simulation, 'latest', called, codes);
  if (refusal) await refuseFinally(finality, refusal, (state) => refusalAt(rpc, simulation, state));
  return {
    simulation,
    latest,
    transactionCount: valueOf(count),
    gas: withMargin(readGas(estimated), latest),
    market,
    senderBalance,
  };
}

/** Nodes that have answered how many transactions are pending. */
const showsWaiting = new WeakSet<object>();

/** Queries after which the method is tried again: another node behind a load balancer may have it. */
const TIMES_UNTIL_NEXT_TRY = 1_000;
/**
 * True if a node has shown transactions behind gaps; otherwise the number of queries to skip before the next
 * try.
 */
const showsGaps = new WeakMap<JsonRpc, true | number>();

/**
 * The node's pending count leaves out transactions that wait behind a nonce gap. A transaction signed in that
 * gap lets them land: after a restore, the same call a second time. The question is sent alone, because a
 * gateway may refuse a whole batch for a method that it does not pass on.
 * @returns 0n if no transaction waits, or the node does not show it
 */
async function nextAfterGaps(rpc: JsonRpc, address: Address): Promise<bigint> {
  const shows = showsGaps.get(rpc) ?? 0;
  if (shows !== true && shows > 0) {
    showsGaps.set(rpc, shows - 1);
    return 0n;
  }
  try {
    const [answer] = await rpc.askTogether([ask.waitingOf(address)]);
    const nonces = valueOfOptional(answer);
    if (nonces !== null) showsGaps.set(rpc, true);
    else if (shows !== true) showsGaps.set(rpc, TIMES_UNTIL_NEXT_TRY);
    return largest(0n, ...(nonces ?? []).map((nonce) => nonce + 1n));
  } catch (error) {
    // A node that has shown them before may be in trouble; others, also behind the same address, refuse the
    // method in their own words.
    const mayPass =
      error instanceof RpcError ? (shows === true ? mayBeTransient(error) : isBusy(error)) : shows === true;
    if (mayPass) throw error;
    showsGaps.set(rpc, TIMES_UNTIL_NEXT_TRY);
    return 0n;
  }
}

/**
 * By default counts landed transactions only: the database knows the waiting ones, and a node counts only
 * those that it has seen and not dropped.
 */
export async function readNextSequences(
  { rpc, finality, signer }: Pick<DraftDeps, 'rpc' | 'finality' | 'signer'>,
  by: 'latest' | 'final' | 'waiting' = 'latest',
): Promise<NextSequences> {
  const { address } = signer;
  if (by === 'waiting') {
    const [[latest, pending], afterGaps] = await Promise.all([
      rpc.askTogether([ask.transactionCount(address, 'latest'), ask.transactionCount(address, 'pending')]),
      nextAfterGaps(rpc, address),
    ]);
    const landed = valueOf(latest);
    if ('value' in pending) showsWaiting.add(rpc);
    // Not every node keeps or shows waiting transactions. A node that did so before may only be in trouble.
    const reported = showsWaiting.has(rpc) ? valueOf(pending) : (valueIfKept(pending) ?? landed);
    return new Map([[address, largest(reported, landed, afterGaps)]]);
  }
  if (by === 'latest') {
    const [, syncing, count] = await retryWhile(
      ([block]) => finality.isBehind(block),
      () => rpc.askTogether([ask.block('latest'), ask.syncing(), ask.transactionCount(address, 'latest')]),
    );
    requireSynced(syncing);
    return new Map([[address, valueOf(count)]]);
  }
  return finality.onFinalBlock(async (pin) => {
    const [count] = await finality.askTogether(pin, [ask.transactionCount(address, pin.state)]);
    return new Map([[address, valueOf(count)]]);
  });
}

/**
 * Refuses a syncing node: it may lack the same history as a restored database, and report its nonces as
 * unused, so that lost calls would be made again. A node without the method can't report that it is syncing.
 */
function requireSynced(answer: Answer<Syncing>): void {
  const syncing = valueOfOptional(answer) ?? false;
  if (syncing === false) return;
  const { currentBlock, highestBlock } = syncing;
  const place = highestBlock === undefined ? '' : ` (at block ${currentBlock} of ${highestBlock})`;
  throw new NetworkUnavailable(
    `The node is still syncing${place}: nothing is signed or given up before it is done`,
  );
}

function readGas(estimated: Answer<bigint>): bigint {
  if ('value' in estimated) return estimated.value;
  // The node accepted the call itself in the same batch.
  throw new NetworkUnavailable(`The gas could not be estimated: ${estimated.error.message}`, {
    cause: estimated.error,
  });
}

/**
 * Transactions that land first can raise this call's cost: a storage slot that it changes may be empty by
 * then, at some 20,000 gas each. Unused gas is not charged.
 */
function withMargin(estimated: bigint, latest: Block): bigint {
  const wanted = (estimated * 5n) / 4n + 60_000n;
  return wanted < latest.gasLimit ? wanted : latest.gasLimit;
}

/**
 * Nodes refuse a transaction whose maximum cost the account can't pay. Once signed, it would block its slot.
 */
function requireFunds(account: Address, balance: bigint, needed: bigint): void {
  if (balance >= needed) return;
  throw new SignerShortOfFunds(
    `The signer ${account} has ${formatEther(balance)} of the chain's own coin, but this transaction may take ` +
      `${formatEther(needed)}: fund it`,
  );
}
