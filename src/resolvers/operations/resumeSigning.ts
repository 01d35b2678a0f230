/**
 * resumeSigning: an operator ends a halt of signing. Unsigned submissions stay under review, to be decided
 * one by one.
 */
import { resumeSigning as resume } from '../../ledger/submission/haltedSigning.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { prepareDecision } from './operatorDecisions.ts';
import type { SeenHalt } from './reviewVersion.ts';

export interface ResumeSigningInput extends SeenHalt {
  reason: string;
}

/**
 * @returns why signing was halted. @throws DomainError CONFLICT when signing is not halted, or is halted
 *   anew; NetworkUnavailable
 */
export async function resumeSigning(
  deps: Needs<'submission' | 'log' | 'ids' | 'clock'>,
  operatorId: string,
  input: ResumeSigningInput,
  grant?: Grant,
): Promise<{ signingHaltedBecause: string }> {
  const { reason } = input;
  const decision = { submissionId: null, decision: 'RESUME_SIGNING', decidedBy: operatorId, reason } as const;
  const confirm = await prepareDecision(deps, decision, grant, input);
  const haltedBecause = await resume(deps.submission, confirm);
  deps.log.warn({ caller: operatorId, reason, haltedBecause }, 'an operator resumed signing');
  return { signingHaltedBecause: haltedBecause };
}
