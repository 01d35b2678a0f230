/**
 * Effects of a contract's deploy, whatever is deployed: a project's token, a receipt's, or the settlement contract.
 * Submission calls them in the transaction that settles the call.
 */
import type { Tx } from '../../db/connection.ts';
import type { Refusal } from '../../ledger/network/port.ts';
import type { Effects } from '../../ledger/submission/effects.ts';

/** How one kind of subject stores what became of its deploy. */
export interface DeploySubject {
  setState(
    tx: Tx,
    id: string,
    state: 'DEPLOYING' | 'REFUSED' | 'NEEDS_REVIEW',
    refusalMessage: string | null,
  ): Promise<void>;
  /** `txHash` is null for an adopted outcome whose transaction is not known. */
  deployed(tx: Tx, id: string, contract: { address: string; txHash: string | null }): Promise<void>;
}

export function deployEffects(subject: DeploySubject): Effects {
  return {
    async succeeded(tx, { subjectId }, { result, txHash }) {
      if (result.kind !== 'deployed') throw new Error(`a deploy returned ${result.kind}`);
      await subject.deployed(tx, subjectId, { address: result.contractAddress, txHash });
    },
    async refused(tx, { subjectId }, refusal) {
      const state = stateOfRefused(refusal);
      await subject.setState(tx, subjectId, state, refusal.message);
      return state;
    },
    needsReview: (tx, { subjectId }, reason) => subject.setState(tx, subjectId, 'NEEDS_REVIEW', reason),
    resumed: (tx, { subjectId }) => subject.setState(tx, subjectId, 'DEPLOYING', null),
  };
}

/** A deploy under review keeps its intent and continues when it is resumed. */
function stateOfRefused({ reason }: Refusal): 'REFUSED' | 'NEEDS_REVIEW' {
  // A used salt: this platform deployed it before. A fee above the cap: the operator raises the cap, or waits.
  return reason === 'SALT_ALREADY_USED' || reason === 'FEE_ABOVE_CAP' ? 'NEEDS_REVIEW' : 'REFUSED';
}
