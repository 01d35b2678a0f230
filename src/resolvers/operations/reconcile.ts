/**
 * reconciliation: compares one project's books with its token, for operators.
 */
import { reconcileProject, type Reconciliation } from '../../reconciliation/reconcileProject.ts';
import type { Needs } from '../core/dependencies.ts';
import { findProjectByToken } from '../carbon/findProject.ts';

/** Fifty reads of the network: more would exceed a client's timeout. */
const MAX_RECORDS = 10_000;

/** Returns null when no project has a token at this address. @throws NetworkUnavailable */
export async function reconcile(
  deps: Needs<'db' | 'network' | 'feed'>,
  tokenAddress: string,
): Promise<Reconciliation | null> {
  const project = await findProjectByToken(deps, tokenAddress);
  if (project === null) return null;
  return reconcileProject({ ...deps, maxRecords: MAX_RECORDS }, project);
}
