/**
 * resumeSigning: an operator ends a halt of signing. Unsigned submissions stay under review, to be decided one by one.
 */
import { resumeSigning as resume } from '../../ledger/submission/haltedSigning.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';

/** @returns why signing was halted. @throws DomainError CONFLICT when it is not; NetworkUnavailable */
export async function resumeSigning(
  deps: Needs<'submission' | 'log'>,
  operatorId: string,
  input: { reason: string },
  grant?: Grant,
): Promise<{ haltedBecause: string }> {
  const haltedBecause = await resume(deps.submission, grant?.confirm);
  deps.log.warn({ operatorId, reason: input.reason, haltedBecause }, 'an operator resumed signing');
  return { haltedBecause };
}
