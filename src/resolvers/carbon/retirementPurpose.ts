/**
 * For whom and why a retirement is made, beyond the token's record. The platform stores the purpose and shows
 * it publicly with the record.
 */
import type { retirements } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';

export type RetirementPurpose = Pick<
  typeof retirements.$inferSelect,
  'beneficiaryId' | 'jurisdiction' | 'reason' | 'periodFrom' | 'periodUntil'
>;

export const NO_PURPOSE: RetirementPurpose = {
  beneficiaryId: null,
  jurisdiction: null,
  reason: null,
  periodFrom: null,
  periodUntil: null,
};

/** @throws DomainError BAD_USER_INPUT */
export function checkPurpose({ jurisdiction, reason, periodFrom, periodUntil }: RetirementPurpose): void {
  if (reason === 'COMPLIANCE' && jurisdiction === null) {
    throw new DomainError(
      'BAD_USER_INPUT',
      'With reason COMPLIANCE, input.jurisdiction must name the country whose law the obligation is under.',
      { field: 'input.jurisdiction' },
    );
  }
  // ISO 8601 dates sort correctly as texts.
  if (periodFrom === null || periodUntil === null || periodFrom < periodUntil) return;
  throw new DomainError(
    'BAD_USER_INPUT',
    `A period ends after it begins; this one is from ${periodFrom} until ${periodUntil}, which is not part of it.`,
    { field: 'input.period.until' },
  );
}
