/**
 * Finds out why a landed transaction was reverted. Chains record the revert but not its reason, so the call
 * is simulated again.
 */
import type { Refusal } from '../port.ts';
import type { AbiError } from './errorAbi.ts';
import { readDeploymentFee } from './deploymentFee.ts';
import type { Finality, Pin } from './finality.ts';
import { RpcError } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { ask, quantityOf } from './node.ts';
import type { BlockReference, Receipt, Transaction } from './node.ts';
import { revertOf } from './refusals.ts';
import type { Revert } from './refusals.ts';
import { explain } from './simulation.ts';
import { isBusy, mayBeTransient } from './transientErrors.ts';

type RevertCause =
  | { kind: 'refusal'; refusal: Refusal }
  /** Not caused by the contract, as far as can be known: signing again is harmless. */
  | {
      kind: 'transient';
      cause: 'out of gas' | 'reverted without a reason' | 'another deployment fee';
      problem: string;
    };

/**
 * From this percentage on, the transaction ran out of gas: not all is used, because each nested call holds
 * back a 64th. The platform's own estimates leave more unused.
 */
const GAS_USED_UP_PERCENT = 90n;

/**
 * @throws RpcError, BlockReorganised if a node that is busy or behind may hide the reason; NetworkUnavailable
 */
export async function explainRevert(
  { rpc, finality, errors }: { rpc: JsonRpc; finality: Finality; errors: readonly AbiError[] },
  pin: Pin,
  receipt: Receipt,
  transaction: Transaction,
): Promise<RevertCause> {
  const { blockNumber, gasUsed } = receipt;
  // The states before and after the block: only the latter includes earlier transactions of the same block.
  const states = [blockNumber - 1n, blockNumber].map(quantityOf);
  const again = await replay(finality, pin, transaction, states);
  const isGasUsedUp = gasUsed * 100n >= transaction.gas * GAS_USED_UP_PERCENT;
  if (again !== null && !(again instanceof RpcError)) {
    const { to, input: data } = transaction;
    const refusal = await explain(rpc, { to, data }, { revert: again.revert, errors }, again.at);
    const fee = refusal.reason === 'OTHER' ? await otherFee(rpc, transaction, again.at) : null;
    if (fee !== null) {
      const problem = `the fee for a deployment was ${fee} wei there, and it paid ${transaction.value}`;
      return { kind: 'transient', cause: 'another deployment fee', problem };
    }
    if (!isGasUsedUp || refusal.reason !== 'OTHER') return { kind: 'refusal', refusal };
  }
  if (isGasUsedUp) {
    const problem = `it used ${gasUsed} of ${transaction.gas} gas, and ran out of it`;
    return { kind: 'transient', cause: 'out of gas', problem };
  }
  if (again instanceof RpcError) {
    if (isBusy(again)) throw again;
    const message = 'The contract refused the call, in a state that the node no longer has to say why';
    return { kind: 'refusal', refusal: { reason: 'OTHER', message } };
  }
  const problem = 'it was reverted, but neither the state before nor after would do so';
  return { kind: 'transient', cause: 'reverted without a reason', problem };
}

/**
 * The factory's owner may change the fee after a deployment is signed.
 * @returns null if the fee is the one that was paid, as for other contracts
 */
async function otherFee(
  rpc: JsonRpc,
  { to, value }: Transaction,
  at: BlockReference,
): Promise<bigint | null> {
  const fee = await readDeploymentFee(rpc, to, at);
  return fee === value ? null : fee;
}

/**
 * The final block is asked for too, because a node that is behind lacks states that still exist.
 *
 * @returns null if a state accepts the call and the other does not refuse it; the node's error if neither
 *   shows anything, or if the state that the node is too busy to show may tell the reason
 * @throws RpcError if a state accepts the call and trouble of the node hides the other; BlockReorganised,
 *   NetworkUnavailable
 */
async function replay(
  finality: Finality,
  pin: Pin,
  { from, to, input, value }: Transaction,
  states: readonly BlockReference[],
): Promise<{ revert: Revert; at: BlockReference } | null | RpcError> {
  const questions = states.map((state) => ask.call({ from, to, data: input, value }, state));
  const answers = await finality.askTogether(pin, questions);
  const reverts = answers.flatMap((answer, place) => {
    const revert = 'error' in answer ? revertOf(answer.error) : null;
    const at = states[place];
    return revert && at !== undefined ? [{ revert, at }] : [];
  });
  const errors = answers.flatMap((answer) =>
    'error' in answer && revertOf(answer.error) === null ? [answer.error] : [],
  );
  const telling = reverts.find(({ revert }) => revert.data !== '0x');
  const found = telling ?? errors.find(isBusy) ?? reverts[0];
  if (found) return found;
  if (!answers.some((answer) => 'value' in answer)) return errors[0] ?? null;
  const hidden = errors.find(mayBeTransient);
  if (hidden) throw hidden;
  return null;
}
