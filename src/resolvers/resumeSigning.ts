/**
 * resumeSigning: an operator ends a halt of signing, after having made sure that nothing will be done a second time.
 */
import { readHalt, resumeSigning as resume } from '../ledger/submission/haltedSigning.ts';
import type { Dependencies } from './dependencies.ts';

/** @returns why signing was halted. @throws DomainError CONFLICT when it is not; NetworkUnavailable */
export async function resumeSigning(
  deps: Dependencies,
  operatorId: string,
  input: { reason: string },
): Promise<{ haltedBecause: string }> {
  const haltedBecause = (await readHalt(deps.db)) ?? '';
  deps.log.warn({ operatorId, reason: input.reason, haltedBecause }, 'an operator resumes signing');
  await resume(deps.submission);
  return { haltedBecause };
}
