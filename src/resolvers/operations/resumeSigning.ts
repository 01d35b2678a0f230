/**
 * resumeSigning: an operator ends a halt of signing. Unsigned submissions stay under review, to be decided
 * one by one.
 */
import { resumeSigning as resume } from '../../ledger/submission/haltedSigning.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { recordDecision } from './operatorDecisions.ts';

/**
 * @returns why signing was halted. @throws DomainError CONFLICT when signing is not halted;
 *   NetworkUnavailable
 */
export async function resumeSigning(
  deps: Needs<'submission' | 'log' | 'ids' | 'clock'>,
  operatorId: string,
  { reason }: { reason: string },
  grant?: Grant,
): Promise<{ haltedBecause: string }> {
  const decision = { submissionId: null, decision: 'RESUME_SIGNING', decidedBy: operatorId, reason } as const;
  const haltedBecause = await resume(deps.submission, recordDecision(deps, decision, grant));
  deps.log.warn({ caller: operatorId, reason, haltedBecause }, 'an operator resumed signing');
  return { haltedBecause };
}
