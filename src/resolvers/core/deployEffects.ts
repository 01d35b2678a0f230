/**
 * Effects of a contract's deploy, for every kind of contract: a project's token, a receipt's token, or the
 * settlement contract. Submission calls them in the transaction that settles the call.
 */
import type { Tx } from '../../db/connection.ts';
import type { Refusal } from '../../ledger/network/port.ts';
import type { Effects } from '../../ledger/submission/effects.ts';

/** How one kind of row stores the outcome of its deploy. */
interface DeployedRow {
  setState(
    tx: Tx,
    id: string,
    state: 'DEPLOYING' | 'REFUSED' | 'NEEDS_REVIEW',
    stateReason: string | null,
  ): Promise<void>;
  deployed(tx: Tx, id: string, address: string): Promise<void>;
}

export function deployEffects(row: DeployedRow): Effects {
  return {
    async succeeded(tx, { targetId }, { result }) {
      if (result.kind !== 'deployed') throw new Error(`a deploy returned ${result.kind}`);
      await row.deployed(tx, targetId, result.contractAddress);
    },
    async refused(tx, { targetId }, refusal) {
      const state = stateOfRefused(refusal);
      await row.setState(tx, targetId, state, refusal.message);
      return state;
    },
    needsReview: (tx, { targetId }, reason) => row.setState(tx, targetId, 'NEEDS_REVIEW', reason),
    resumed: (tx, { targetId }) => row.setState(tx, targetId, 'DEPLOYING', null),
  };
}

/** A deploy under review keeps its intent and continues when it is resumed. */
function stateOfRefused({ reason }: Refusal): 'REFUSED' | 'NEEDS_REVIEW' {
  // SALT_ALREADY_USED: this platform has deployed the contract before, or a stranger was first with its salt.
  // FEE_ABOVE_CAP: the operator raises the cap, or waits.
  return reason === 'SALT_ALREADY_USED' || reason === 'FEE_ABOVE_CAP' ? 'NEEDS_REVIEW' : 'REFUSED';
}
