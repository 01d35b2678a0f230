/**
 * Simulation: runs calls on the network's current state, without effect. Concurrent simulations read that
 * state together, and don't see each other's changes.
 */
import { createBatcher } from '../../../lib/batches.ts';
import type { Address } from '../port.ts';
import { checkInvocation, type Invocation } from './calls.ts';
import { execute, keysOf } from './contracts/execute.ts';
import { MAX_TRANSACTIONS_PER_LEDGER, type LandingDeps } from './landing.ts';
import { readLedgerClock, type ClosedLedger } from './ledgerClock.ts';
import { loadState } from './worldStore.ts';

/** Simulates the call as sent by `source`. @throws NetworkRefusal if the contracts would refuse it */
export type Simulate = (source: Address, call: Invocation) => Promise<Simulated>;

interface Simulated {
  invocation: Invocation;
  latest: ClosedLedger;
}

interface Question {
  source: Address;
  invocation: Invocation;
}

export function createSimulator(deps: LandingDeps): Simulate {
  const batcher = createBatcher<Question, Simulated | Error>({
    maxItems: MAX_TRANSACTIONS_PER_LEDGER,
    run: (questions) => simulateTogether(deps, questions),
  });
  return async (source, call) => {
    const simulated = await batcher.submit({ source, invocation: checkInvocation(call) });
    if (simulated instanceof Error) throw simulated;
    return simulated;
  };
}

async function simulateTogether(
  deps: LandingDeps,
  questions: readonly Question[],
): Promise<(Simulated | Error)[]> {
  const [latest, createWorldOfCall] = await Promise.all([
    readLedgerClock(deps.db, deps.clock),
    loadState(
      deps.db,
      questions.map(({ source, invocation }) => keysOf({ ...deps, source }, invocation)),
    ),
  ]);
  return questions.map(({ source, invocation }) => {
    try {
      execute(createWorldOfCall(), { ...deps, source, closedAt: latest.closedAt }, invocation);
      return { invocation, latest };
    } catch (error) {
      return error as Error;
    }
  });
}
