/**
 * Simulates a call in the state of one block, and decides when a refusal is final.
 *
 * A refusal ends a call permanently, so it must rest on final facts. A call that only the latest block
 * refuses (for a pause that may be undone, or a balance whose mint is not final yet) is tried again later.
 */
import { encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { ChainReorganised, NetworkRefusal, NetworkUnavailable } from '../port.ts';
import type { Refusal } from '../port.ts';
import { returned, wordIn } from './contractReads.ts';
import { carbonTokenAbi, commodityTokenAbi, functionCalled } from './contracts.ts';
import type { EncodedCall } from './calls.ts';
import type { AbiError } from './errorAbi.ts';
import type { Finality } from './finality.ts';
import { valueOf } from './jsonRpc.ts';
import type { Answer, JsonRpc } from './jsonRpc.ts';
import { ask } from './node.ts';
import type { BlockReference, CallRequest } from './node.ts';
import { refusalOf, revertOf } from './refusals.ts';
import type { Revert } from './refusals.ts';

export interface Simulation {
  encoded: EncodedCall;
  request: CallRequest & { from: Address };
}

export function simulationOf(encoded: EncodedCall, from: Address, value = 0n): Simulation {
  return { encoded, request: { from, to: encoded.to, data: encoded.data, value } };
}

/** Null if the contracts would accept the call in that state. @throws RpcError, NetworkUnavailable */
export async function refusalAt(
  rpc: JsonRpc,
  simulation: Simulation,
  at: BlockReference,
): Promise<Refusal | null> {
  const [called, ...codes] = await rpc.askTogether([
    ask.call(simulation.request, at),
    ...codeQuestions(simulation, at),
  ]);
  return judge(rpc, simulation, at, called, codes);
}

/**
 * Asks for the code of each contract, because a call to an address without code succeeds and does nothing.
 */
export function codeQuestions({ encoded }: Simulation, at: BlockReference) {
  return encoded.involved.map((address) => ask.code(address, at));
}

/** Reads the answers to the call and to `codeQuestions`. */
export async function judge(
  rpc: JsonRpc,
  simulation: Simulation,
  at: BlockReference,
  called: Answer<Hex>,
  codes: readonly Answer<Hex>[],
): Promise<Refusal | null> {
  const empty = simulation.encoded.involved.find((_, place) => {
    const code = codes[place];
    return code !== undefined && valueOf(code) === '0x';
  });
  if (empty !== undefined) return { reason: 'CONTRACT_NOT_FOUND', message: `No contract stands at ${empty}` };
  if ('value' in called) return null;
  const revert = revertOf(called.error);
  if (revert === null) throw called.error;
  return explain(rpc, simulation.encoded, { revert, errors: simulation.encoded.errors }, at);
}

/** Explains refusals for which the contracts have no error: another template, or not expired yet. */
export async function explain(
  rpc: JsonRpc,
  { to: token, data }: Pick<EncodedCall, 'to' | 'data'>,
  { revert, errors }: { revert: Revert; errors: readonly AbiError[] },
  at: BlockReference,
): Promise<Refusal> {
  const refusal = refusalOf(revert, errors);
  const called = functionCalled(data);
  const isClear = refusal.reason !== 'OTHER' && refusal.reason !== 'WRONG_STATUS';
  if (isClear || (called !== 'retire' && called !== 'markExpired')) return refusal;
  const { isCarbon, isExpired } = await probeTemplate(rpc, token, at);
  if (called === 'retire' && !isCarbon && isExpired !== null) {
    return {
      reason: 'WRONG_TEMPLATE',
      message: `${token} is a commodity token; only carbon credits are retired`,
    };
  }
  if (called === 'markExpired' && isCarbon && isExpired === null) {
    return {
      reason: 'WRONG_TEMPLATE',
      message: `${token} is a carbon-credit token; only commodity receipts expire`,
    };
  }
  if (called === 'markExpired' && isExpired === false) {
    return { reason: 'NOT_EXPIRED', message: `${token} has not passed its expiry date` };
  }
  return refusal;
}

/**
 * Recognises the template by the functions that answer. `isExpired` is null if that function gives no
 * boolean.
 */
async function probeTemplate(
  rpc: JsonRpc,
  token: Address,
  at: BlockReference,
): Promise<{ isCarbon: boolean; isExpired: boolean | null }> {
  const [retirements, expired] = await rpc.askTogether([
    ask.call(
      { to: token, data: encodeFunctionData({ abi: carbonTokenAbi, functionName: 'totalRetirements' }) },
      at,
    ),
    ask.call(
      { to: token, data: encodeFunctionData({ abi: commodityTokenAbi, functionName: 'isExpired' }) },
      at,
    ),
  ]);
  const flag = wordIn(returned(expired));
  return {
    isCarbon: wordIn(returned(retirements)) !== null,
    isExpired: flag === 0n || flag === 1n ? flag === 1n : null,
  };
}

/**
 * Ends a call that was refused at the latest block, if the final block refuses it for the same reason.
 * @throws NetworkRefusal; NetworkUnavailable if the refusal is not final yet; ChainReorganised if the chain
 *   contradicts the final history, because the call may have been executed on the former chain
 */
export async function refuseFinally(
  finality: Pick<Finality, 'onFinalBlock'>,
  refusal: Refusal,
  evaluateAt: (state: BlockReference) => Promise<Refusal | null>,
): Promise<never> {
  const [finalRefusal, rewritten] = await finality.onFinalBlock(async (pin) => [
    await evaluateAt(pin.state),
    pin.rewritten,
  ]);
  if (rewritten !== null) throw new ChainReorganised(rewritten);
  if (finalRefusal?.reason === refusal.reason) throw new NetworkRefusal(finalRefusal);
  throw new NetworkUnavailable(`Refused at the latest block, but not finally yet: ${refusal.message}`);
}
