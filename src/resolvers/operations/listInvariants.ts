/**
 * Lists the invariants with the last verdicts of reconciliations.
 */
import { readLastVerdicts, type LastVerdict } from '../../reconciliation/lastReconciliation.ts';
import { INVARIANTS, type Invariant } from '../../reconciliation/verdicts.ts';
import type { Needs } from '../core/dependencies.ts';

export interface InvariantStatus extends Pick<
  LastVerdict,
  'verdict' | 'findings' | 'notProved' | 'agreedAt' | 'fullyComparedAt'
> {
  invariant: Invariant;
  promise: string;
  /** Null before the first reconciliation. */
  comparedAt: Date | null;
}

function neverCompared(invariant: Invariant): Omit<InvariantStatus, 'invariant' | 'promise'> {
  return {
    verdict: 'NOT_PROVED',
    findings: [],
    notProved: [{ invariant, obstacle: 'LEFT_OUT', message: 'No reconciliation has compared it yet.' }],
    agreedAt: null,
    comparedAt: null,
    fullyComparedAt: null,
  };
}

/** One status for each invariant; an invariant without a verdict is not proved. */
export async function listInvariants({ db }: Needs<'db'>): Promise<InvariantStatus[]> {
  const last = await readLastVerdicts(db);
  return (Object.keys(INVARIANTS) as Invariant[]).map((invariant) => ({
    ...(last.get(invariant) ?? neverCompared(invariant)),
    invariant,
    promise: INVARIANTS[invariant],
  }));
}
