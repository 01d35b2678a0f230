/**
 * setManualSessionStatus: the person who pays out for the manual provider says what became of a payout. The
 * provider then calls the platform's webhook, as any provider would.
 */
import { DomainError } from '../errors.ts';
import type { RampSession, RampStatus } from '../ramp/port.ts';
import type { Dependencies } from './dependencies.ts';

/** @throws DomainError NOT_FOUND, CONFLICT when another provider pays out */
export async function setManualSessionStatus(
  deps: Dependencies,
  operatorId: string,
  input: { sessionId: string; status: RampStatus },
): Promise<RampSession> {
  const { sessionId, status } = input;
  if (deps.manualRamp === null) {
    throw new DomainError(
      'CONFLICT',
      `Payouts are made by the provider "${deps.ramp.name}", which alone knows their status.`,
    );
  }
  const session = await deps.manualRamp.setStatus(sessionId, status);
  deps.log.info({ sessionId, status, operatorId }, 'manual session status set');
  return session;
}
