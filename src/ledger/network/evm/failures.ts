/**
 * Finds out why a landed transaction was reverted. Chains record the revert but not its reason, so the call
 * is simulated again.
 */
import type { Outcome, Refusal } from '../port.ts';
import { functionCalled, type ContractAddresses } from './contracts.ts';
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

/**
 * From this percentage on, the transaction ran out of gas: not all is used, because each nested call holds
 * back a 64th. The platform's own estimates leave more unused.
 */
const GAS_USED_UP_PERCENT = 90n;

export interface OutcomeDeps {
  rpc: JsonRpc;
  finality: Finality;
  contracts: ContractAddresses;
}

/**
 * @throws RpcError, BlockReorganised if a node that is busy or behind may hide the reason; NetworkUnavailable
 */
export async function outcomeOfRevert(
  { rpc, finality, contracts: { errors } }: OutcomeDeps,
  pin: Pin,
  receipt: Receipt,
  transaction: Transaction,
): Promise<Outcome> {
  const { blockNumber: ledger, gasUsed, transactionHash } = receipt;
  const refused = (refusal: Refusal): Outcome => ({ status: 'refused', ledger, refusal });
  /** Not by the contract's word, as far as can be known: signing again is harmless. */
  const dead = (cause: string, why: string): Outcome => ({
    status: 'dead',
    proof: `${transactionHash} landed without effect in block ${ledger}: ${why}`,
    cause,
  });
  // The states before and after the block: only the latter includes earlier transactions of the same block.
  const states = [ledger - 1n, ledger].map(quantityOf);
  const again = await replay(finality, pin, transaction, states);
  const isGasUsedUp = gasUsed * 100n >= transaction.gas * GAS_USED_UP_PERCENT;
  if (again !== null && !(again instanceof RpcError)) {
    const { to, input: data, value } = transaction;
    const refusal = await explain(rpc, { to, data }, { revert: again.revert, errors }, again.at);
    if (refusal.reason !== 'OTHER') return refused(refusal);
    // The factory's owner may change the fee after a deployment is signed. A token could answer with anything.
    const isDeployment = functionCalled(data).startsWith('deploy');
    const fee = isDeployment ? await readDeploymentFee(rpc, to, again.at) : value;
    if (fee !== value)
      return dead(
        'another deployment fee',
        `the fee for a deployment was ${fee} wei there, and it paid ${value}`,
      );
    if (!isGasUsedUp) return refused(refusal);
  }
  if (isGasUsedUp)
    return dead('out of gas', `it used ${gasUsed} of ${transaction.gas} gas, and ran out of it`);
  if (again instanceof RpcError) {
    if (isBusy(again)) throw again;
    const message = 'The contract refused the call, in a state that the node no longer has to say why';
    return refused({ reason: 'OTHER', message });
  }
  return dead(
    'reverted without a reason',
    'it was reverted, but neither the state before nor after would do so',
  );
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
