/**
 * setManualSessionStatus: an operator sets the status of a payout at the manual provider, which then calls the
 * platform's webhook as any provider would.
 */
import { and, eq } from 'drizzle-orm';
import { manualRampSessions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { RampSession, RampStatus } from '../../ramp/port.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';

interface StatusInput {
  sessionId: string;
  status: RampStatus;
}

/** @throws DomainError NOT_FOUND, CONFLICT when another provider is configured */
export async function setManualSessionStatus(
  deps: Needs<'ramp' | 'manualRamp' | 'log'>,
  operatorId: string,
  { sessionId, status }: StatusInput,
  grant?: Grant,
): Promise<RampSession> {
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

/** False where there is no such session. */
export async function hasManualStatus(
  { db, manualRamp }: Needs<'db' | 'manualRamp'>,
  { sessionId, status }: StatusInput,
): Promise<boolean> {
  if (manualRamp === null) return false;
  const isIt = and(eq(manualRampSessions.id, sessionId), eq(manualRampSessions.status, status));
  return (await db.$count(manualRampSessions, isIt)) > 0;
}
