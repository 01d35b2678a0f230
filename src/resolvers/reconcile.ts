/**
 * reconciliation: one project's books against its token, for operators.
 */
import { reconcileProject, type Reconciliation } from '../audit/reconcileProject.ts';
import type { Dependencies } from './dependencies.ts';
import { requireProjectByToken } from './findProject.ts';

/** @throws DomainError NOT_FOUND; NetworkUnavailable */
export async function reconcile(deps: Dependencies, tokenAddress: string): Promise<Reconciliation> {
  return reconcileProject(deps, await requireProjectByToken(deps, tokenAddress));
}
