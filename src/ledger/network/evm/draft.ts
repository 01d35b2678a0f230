/**
 * From a call to a draft: simulated at the latest block, with gas and fees, ready to be signed in any slot.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address } from 'viem';
import { NetworkUnavailable } from '../port.ts';
import type { Draft, NetworkCall, NextSequences, Slot } from '../port.ts';
import { factoryAbi } from './contracts.ts';
import type { ContractAddresses } from './contracts.ts';
import { encodeCall } from './encodeCall.ts';
import type { EncodedCall } from './encodeCall.ts';
import type { Finality } from './finality.ts';
import { feeMarketOf, feesUnderCap } from './fees.ts';
import type { FeeMarket } from './fees.ts';
import { valueOf } from './jsonRpc.ts';
import type { Answer, JsonRpc } from './jsonRpc.ts';
import { ask } from './questions.ts';
import type { Block } from './questions.ts';
import { revertOf } from './refusals.ts';
import { codeQuestions, judge, refusalAt, refuseFinally, simulationOf } from './simulation.ts';
import type { Simulation } from './simulation.ts';
import type { Signer } from './signing.ts';

export interface DraftDeps {
  rpc: JsonRpc;
  finality: Finality;
  contracts: ContractAddresses;
  signer: Signer;
  /** Wei per gas. */
  maxFeePerGasCap: bigint;
}

/** What a call takes to land, by the latest block. */
export interface Estimate {
  simulation: Simulation;
  latest: Block;
  /** How many transactions of the sender have landed: the nonce that comes next. */
  transactionCount: bigint;
  gas: bigint;
  market: FeeMarket;
  /** Wei. */
  senderBalance: bigint;
}

/** @throws NetworkRefusal when the call can't succeed; NetworkUnavailable */
export async function draftCall(deps: DraftDeps, call: NetworkCall): Promise<Draft> {
  const { signer, maxFeePerGasCap } = deps;
  const { simulation, latest, gas, market, senderBalance } = await estimateCall(deps, call, signer.address);
  const fees = feesUnderCap(market, maxFeePerGasCap);
  const value = simulation.request.value ?? 0n;
  requireFunds(signer.address, senderBalance, value + gas * fees.maxFeePerGas);
  const { to, data } = simulation.encoded;
  return {
    async sign(slot) {
      const { source, sequence } = requireSlot(slot, signer.address);
      const signed = await signer.sign({ nonce: sequence, to, data, value, gas, ...fees });
      return { ...signed, source, sequence, validUntil: null, preparedAtLedger: latest.number };
    },
  };
}

/** @throws NetworkRefusal when the call can't succeed; NetworkUnavailable */
export async function estimateCall(
  deps: Pick<DraftDeps, 'rpc' | 'finality' | 'contracts'>,
  call: NetworkCall,
  sender: Address,
): Promise<Estimate> {
  const { rpc, finality, contracts } = deps;
  const encoded = encodeCall(contracts, sender, call);
  const simulation = simulationOf(call, encoded, sender, await deploymentFeeFor(rpc, encoded));
  const [block, called, estimated, count, tip, balance, ...codes] = await rpc.askTogether([
    ask.block('latest'),
    ask.call(simulation.request, 'latest'),
    ask.gasFor(simulation.request, 'latest'),
    ask.transactionCount(sender, 'latest'),
    ask.priorityFee(),
    ask.balance(sender, 'latest'),
    ...codeQuestions(simulation, 'latest'),
  ]);
  const refusal = await judge(rpc, simulation, 'latest', called, codes);
  if (refusal) await refuseFinally(finality, refusal, (state) => refusalAt(rpc, simulation, state));
  const latest = valueOf(block);
  if (latest === null) throw new NetworkUnavailable('The node has no latest block');
  return {
    simulation,
    latest,
    transactionCount: valueOf(count),
    gas: withMargin(readGas(estimated), latest),
    market: feeMarketOf(latest, 'value' in tip ? tip.value : null),
    senderBalance: valueOf(balance),
  };
}

/**
 * By what has landed: what is waiting is known to the database alone, as a node counts only what it has seen and
 * not yet forgotten.
 */
export async function readNextSequences(
  { rpc, finality, signer }: Pick<DraftDeps, 'rpc' | 'finality' | 'signer'>,
  by: 'latest' | 'final' = 'latest',
): Promise<NextSequences> {
  const { address } = signer;
  if (by === 'latest') return new Map([[address, await rpc.ask(ask.transactionCount(address, 'latest'))]]);
  return finality.onFinalBlock(async (pin) => {
    const [count] = await finality.askTogether(pin, [ask.transactionCount(address, pin.state)]);
    return new Map([[address, valueOf(count)]]);
  });
}

/** A factory without a `deploymentFee()` asks for none. */
async function deploymentFeeFor(rpc: JsonRpc, { to, mayCostFee }: EncodedCall): Promise<bigint> {
  if (!mayCostFee) return 0n;
  const data = encodeFunctionData({ abi: factoryAbi, functionName: 'deploymentFee' });
  const [answer] = await rpc.askTogether([ask.call({ to, data }, 'latest')]);
  if ('error' in answer) {
    if (revertOf(answer.error) === null) throw answer.error;
    return 0n;
  }
  // No code, no answer: the simulation will say so.
  if (answer.value === '0x') return 0n;
  return decodeFunctionResult({ abi: factoryAbi, functionName: 'deploymentFee', data: answer.value });
}

function readGas(estimated: Answer<bigint>): bigint {
  if ('value' in estimated) return estimated.value;
  // The call itself was accepted in the same batch.
  throw new NetworkUnavailable(`The gas could not be estimated: ${estimated.error.message}`, {
    cause: estimated.error,
  });
}

/**
 * What lands before this call can make it dearer: a slot of storage that it changes may be empty by then, which
 * costs some 20,000 more each. Gas that is not used is not paid for.
 */
function withMargin(estimated: bigint, latest: Block): bigint {
  const wanted = (estimated * 5n) / 4n + 60_000n;
  return wanted < latest.gasLimit ? wanted : latest.gasLimit;
}

/** Nodes refuse what an account can't pay for at the worst; what is signed then would wait in its slot. */
function requireFunds(account: Address, balance: bigint, needed: bigint): void {
  if (balance >= needed) return;
  throw new NetworkUnavailable(
    `The custody signer ${account} has ${balance} wei, but this transaction may take ${needed}: fund it`,
  );
}

function requireSlot(slot: Slot | null, custody: Address): { source: Address; sequence: bigint } {
  if (slot?.source !== custody) {
    throw new RangeError(
      `Only ${custody} signs here, in a slot of its own; got ${slot?.source ?? 'no slot'}`,
    );
  }
  return { source: custody, sequence: slot.sequence };
}
