/**
 * For whom and what a retirement is, beyond the token's record: kept by the platform, and shown publicly beside the
 * record.
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
export function checkPurpose({ periodFrom, periodUntil }: RetirementPurpose): void {
  // Dates of ISO 8601 are ordered as texts.
  if (periodFrom === null || periodUntil === null || periodFrom < periodUntil) return;
  throw new DomainError(
    'BAD_USER_INPUT',
    `A period ends after it begins; this one is from ${periodFrom} until ${periodUntil}, which is not part of it.`,
    { field: 'input.period.until' },
  );
}
