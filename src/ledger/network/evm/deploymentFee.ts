/**
 * Reads the fee that a factory charges for a deployment. Its owner may set any fee, so the operator's cap
 * limits it.
 */
import { decodeFunctionResult, encodeFunctionData, formatEther } from 'viem';
import type { Address } from 'viem';
import type { Refusal } from '../port.ts';
import { returned } from './contractReads.ts';
import { factoryAbi } from './contracts.ts';
import type { EncodedCall } from './calls.ts';
import type { EstimateDeps } from './draft.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { ask } from './node.ts';
import type { BlockReference } from './node.ts';
import { refuseFinally } from './simulation.ts';

/**
 * Returns the fee in wei at the latest block; 0 for calls that are no deployments.
 * @throws NetworkRefusal FEE_ABOVE_CAP if the fee at the final block is above the cap as well;
 *   NetworkUnavailable
 */
export async function deploymentFeeFor(
  deps: Omit<EstimateDeps, 'contracts'>,
  { to, mayCostFee }: EncodedCall,
): Promise<bigint> {
  if (!mayCostFee) return 0n;
  const { rpc, finality, maxDeploymentFee: cap } = deps;
  const fee = await readDeploymentFee(rpc, to, 'latest');
  if (fee <= cap) return fee;
  return refuseFinally(finality, aboveCap(to, fee, cap), async (state) => {
    const finalFee = await readDeploymentFee(rpc, to, state);
    return finalFee > cap ? aboveCap(to, finalFee, cap) : null;
  });
}

/** Returns wei; 0 for a factory without `deploymentFee()`. */
export async function readDeploymentFee(rpc: JsonRpc, factory: Address, at: BlockReference): Promise<bigint> {
  const data = encodeFunctionData({ abi: factoryAbi, functionName: 'deploymentFee' });
  const [answer] = await rpc.askTogether([ask.call({ to: factory, data }, at)]);
  const read = returned(answer);
  // Also where no contract stands: the simulation reports it.
  if (read.kind !== 'returned') return 0n;
  return decodeFunctionResult({ abi: factoryAbi, functionName: 'deploymentFee', data: read.data });
}

function aboveCap(factory: Address, fee: bigint, cap: bigint): Refusal {
  return {
    reason: 'FEE_ABOVE_CAP',
    message:
      `The factory ${factory} asks ${formatEther(fee)} of the chain's own coin for a deployment; the cap is ` +
      `${formatEther(cap)}. Raise LEDGER_MAX_DEPLOYMENT_FEE_COINS or have the fee lowered, then resume the submission.`,
  };
}
