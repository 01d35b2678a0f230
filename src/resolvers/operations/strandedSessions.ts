/**
 * Off-ramp sessions that wait for another ramp provider than the one in use, after RAMP_PROVIDER or RAMP_NAME
 * was changed. The provider in use is not asked about them. They continue when their own provider is
 * configured again, or when an operator checks with that provider and decides about each
 * (resolveOffRampSessionReview).
 */
import { count, inArray, min, sql } from 'drizzle-orm';
import { offRampSessions } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { OffRampSession } from '../warehouse/offRamp/findOffRampSession.ts';
import { WAITING_FOR_PROVIDER } from '../warehouse/offRamp/transitions.ts';

export function isStranded({ ramp }: Needs<'ramp'>, session: OffRampSession): boolean {
  return session.providerName !== ramp.name && WAITING_FOR_PROVIDER.includes(session.state);
}

export function whereStranded({ ramp }: Needs<'ramp'>) {
  const isWaiting = inArray(offRampSessions.state, [...WAITING_FOR_PROVIDER]);
  return sql`(${offRampSessions.providerName} <> ${ramp.name} AND ${isWaiting})`;
}

/**
 * Why an operator must decide. The farmer may read this as the session's reason, so it contains no name.
 */
export const STRANDED = 'it waits for a ramp provider that is not configured';

export async function logStranded(deps: Needs<'db' | 'ramp' | 'log'>): Promise<void> {
  const name = offRampSessions.providerName;
  const stranded = await deps.db
    .select({ providerName: name, sessions: count(), oldest: min(offRampSessions.createdAt) })
    .from(offRampSessions)
    .where(whereStranded(deps))
    .groupBy(name);
  for (const { providerName, sessions, oldest } of stranded) {
    deps.log.error(
      { providerName, configured: deps.ramp.name, sessions, oldest },
      'off-ramp sessions wait for a ramp provider that is not configured: configure it again until they are done, ' +
        'or decide about each with resolveOffRampSessionReview (offRampSessions, filter: { stranded: true })',
    );
  }
}
