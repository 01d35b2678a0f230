/**
 * The outcome of a transaction that landed and failed, which is final and without effect:
 *
 *   the contract's own error (its number, a panic, a used salt)           → refused
 *   the network's limits (footprint, resources, fees, archival, sequence) → dead: a new attempt may work
 *   the caller has too few lumens for a factory's fee                     → dead
 *   no reason given                                                       → simulated again: refused or dead
 */
import type { xdr } from '@stellar/stellar-sdk';
import type { Outcome, Refusal } from '../port.ts';
import { errorIn, unsentTransaction } from './contractReads.ts';
import { hostErrorOf, isNetworksOwn, showCode, showError } from './hostErrors.ts';
import type { LandedCall } from './results.ts';
import type { StellarNode } from './node.ts';
import type { LandedTransaction } from './nodeAnswers.ts';
import { explainRefusal, isShortOfLumens } from './refusals.ts';
import type { RefusalContext } from './refusals.ts';

export interface FailureDeps extends RefusalContext {
  node: StellarNode;
}

export async function outcomeOfFailure(
  deps: FailureDeps,
  landed: LandedTransaction,
  call: LandedCall,
): Promise<Outcome> {
  const { ledger } = landed;
  const code = innermostCode(landed.result);
  const dead = (cause: string, why = cause): Outcome => ({
    status: 'dead',
    proof: `It landed in ledger ${ledger} and failed without effect, not by the contract's word: ${why}`,
    cause,
  });
  if (code !== 'invokeHostFunctionTrapped') return dead(code);

  const error = hostErrorOf(landed.diagnosticEvents, null);
  if (error === null) {
    const refusal = await refusedNow(deps, call);
    return refusal ? { status: 'refused', ledger, refusal } : dead(`${code}, and the node gives no reason`);
  }
  if (isNetworksOwn(error) || isShortOfLumens(deps, error)) return dead(showCode(error), showError(error));
  return { status: 'refused', ledger, refusal: await explainRefusal(deps, call, error) };
}

/** The code of the failed operation, or the transaction's own. */
export function innermostCode(result: xdr.TransactionResult): string {
  const outer = result.result();
  const name = outer.switch().name;
  const inner = name === 'txFeeBumpInnerFailed' ? outer.innerResultPair().result().result() : outer;
  if (inner.switch().name !== 'txFailed') return inner.switch().name;
  const codes = inner.results().map(codeOf);
  return codes.find((code) => !code.endsWith('Success')) ?? 'txFailed';
}

function codeOf(operation: xdr.OperationResult): string {
  if (operation.switch().name !== 'opInner') return operation.switch().name;
  return operation.tr().value().switch().name;
}

/** Simulates the same call now, because some nodes keep no diagnostics. */
async function refusedNow(deps: FailureDeps, call: LandedCall): Promise<Refusal | null> {
  const { passphrase, node } = deps;
  const simulation = await node.simulate(unsentTransaction(call, { passphrase, source: call.caller }));
  if (simulation.status === 'succeeded') return null;
  const error = errorIn(simulation);
  if (error === null || isShortOfLumens(deps, error)) return null;
  const { reason, message } = await explainRefusal(deps, call, error);
  return { reason, message: `${message} (found by simulating it again)` };
}
