/**
 * setManualSessionStatus: an operator sets the status of a payout at the manual provider, which then calls the
 * platform's webhook as any provider would.
 */
import { DomainError } from '../../lib/errors.ts';
import type { RampSession, RampStatus } from '../../ramp/port.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';

/** @throws DomainError NOT_FOUND, CONFLICT when another provider is configured */
export async function setManualSessionStatus(
  deps: Needs<'ramp' | 'manualRamp' | 'log'>,
  operatorId: string,
  input: { sessionId: string; status: RampStatus },
  grant?: Grant,
): Promise<RampSession> {
  const { sessionId, status } = input;
  if (deps.manualRamp === null) {
    throw new DomainError(
      'CONFLICT',
      `Payouts are made by the provider "${deps.ramp.name}", which sets their status itself.`,
    );
  }
  const session = await deps.manualRamp.setStatus(sessionId, status, grant?.confirm);
  deps.log.info({ sessionId, status, operatorId }, 'manual session status set');
  return session;
}
