/**
 * Why a transaction that landed was reverted: chains keep that it was, not why, so the call is done again.
 */
import { decodeFunctionData } from 'viem';
import type { Address } from 'viem';
import type { NetworkCall, Refusal } from '../port.ts';
import { carbonTokenAbi, commodityTokenAbi } from './contracts.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { ask, quantityOf } from './questions.ts';
import type { BlockReference, Receipt, Transaction } from './questions.ts';
import { refusalOf, revertOf } from './refusals.ts';
import type { Revert } from './refusals.ts';
import { explain } from './simulation.ts';

export type RevertCause =
  | { kind: 'refusal'; refusal: Refusal }
  /** Not the contract's doing, as far as can be told: trying again is harmless. */
  | { kind: 'passing'; problem: string };

/**
 * Who runs out of gas has used nearly all of it; each call further in holds back a 64th. Our own estimates leave
 * more than that.
 */
const GAS_USED_UP_PERCENT = 90n;

export async function explainRevert(
  rpc: JsonRpc,
  receipt: Receipt,
  transaction: Transaction,
): Promise<RevertCause> {
  const { blockNumber, gasUsed } = receipt;
  // Before the block, and after it: what came earlier in the same block is only in the latter.
  const states = [blockNumber === 0n ? 0n : blockNumber - 1n, blockNumber].map(quantityOf);
  const again = await replay(rpc, transaction, states);
  const isGasUsedUp = gasUsed * 100n >= transaction.gas * GAS_USED_UP_PERCENT;
  if (again !== 'unknown' && again !== null) {
    const refusal = await explainAs(rpc, transaction, again);
    if (!isGasUsedUp || refusal.reason !== 'OTHER') return { kind: 'refusal', refusal };
  }
  if (isGasUsedUp) {
    return { kind: 'passing', problem: `it used ${gasUsed} of ${transaction.gas} gas, and ran out of it` };
  }
  if (again === 'unknown') {
    const message = 'The contract refused the call, in a state that the node no longer has to say why';
    return { kind: 'refusal', refusal: { reason: 'OTHER', message } };
  }
  return { kind: 'passing', problem: 'it was reverted, but neither the state before nor after would do so' };
}

/** Null when both states accept the call, `unknown` when the node has neither. */
async function replay(
  rpc: JsonRpc,
  { from, to, input, value }: Transaction,
  states: readonly BlockReference[],
): Promise<{ revert: Revert; at: BlockReference } | null | 'unknown'> {
  if (to === null) return null;
  const answers = await rpc.askEach(states.map((state) => ask.call({ from, to, data: input, value }, state)));
  const reverts = answers.flatMap((answer, place) => {
    const revert = 'error' in answer ? revertOf(answer.error) : null;
    const at = states[place];
    return revert && at !== undefined ? [{ revert, at }] : [];
  });
  const telling = reverts.find(({ revert }) => revert.data !== '0x');
  const found = telling ?? reverts[0];
  if (found) return found;
  return answers.some((answer) => 'value' in answer) ? null : 'unknown';
}

/** The port's call is not at hand here; of those whose refusals need explaining, the data tells enough. */
async function explainAs(
  rpc: JsonRpc,
  { to, input }: Transaction,
  { revert, at }: { revert: Revert; at: BlockReference },
): Promise<Refusal> {
  const call = to === null ? null : explainable(to, input);
  return call === null ? refusalOf(revert) : explain(rpc, call, revert, at);
}

function explainable(tokenAddress: Address, input: Transaction['input']): NetworkCall | null {
  try {
    const { functionName, args } = decodeFunctionData({
      abi: [...carbonTokenAbi, ...commodityTokenAbi],
      data: input,
    });
    if (functionName === 'markExpired') return { kind: 'markExpired', tokenAddress };
    if (functionName !== 'retire') return null;
    const [amount, beneficiary, note] = args;
    return { kind: 'retire', tokenAddress, amount, beneficiary, note };
  } catch {
    return null;
  }
}
