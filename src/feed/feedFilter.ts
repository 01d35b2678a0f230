/**
 * Which records a subscriber of the feed wants, as a condition on the table and as a test of a record in memory. Records
 * that it does not want still advance its cursor.
 */
import { and, eq, type SQL } from 'drizzle-orm';
import { isAmong } from '../db/conditions.ts';
import { projects, retirementRecords } from '../db/tables/index.ts';

export type FeedRecord = typeof retirementRecords.$inferSelect;

/** With what is known of its project, which never changes. */
export interface PlacedRecord extends FeedRecord {
  countryCode: string;
  vintageYear: number;
}

/** A record must match each member that is given; an empty list matches none. */
export interface FeedFilter {
  tokenAddress?: string | null | undefined;
  beneficiaries?: readonly string[] | null | undefined;
  countryCodes?: readonly string[] | null | undefined;
  vintageYears?: readonly number[] | null | undefined;
}

/** The filter of most subscribers: the same object for all of them, so that what they ask for is seen to be the same. */
const EVERYTHING: FeedFilter = {};

export function commonFilter(filter: FeedFilter): FeedFilter {
  return Object.values(filter).every((member) => member == null) ? EVERYTHING : filter;
}

export function matches(filter: FeedFilter, record: PlacedRecord): boolean {
  const { tokenAddress, beneficiaries, countryCodes, vintageYears } = filter;
  return (
    (tokenAddress == null || record.tokenAddress === tokenAddress) &&
    (beneficiaries == null || beneficiaries.includes(record.beneficiary)) &&
    (countryCodes == null || countryCodes.includes(record.countryCode)) &&
    (vintageYears == null || vintageYears.includes(record.vintageYear))
  );
}

/** On a record joined with its project. */
export function conditionOf({
  tokenAddress,
  beneficiaries,
  countryCodes,
  vintageYears,
}: FeedFilter): SQL | undefined {
  return and(
    tokenAddress == null ? undefined : eq(retirementRecords.tokenAddress, tokenAddress),
    isAmong(retirementRecords.beneficiary, beneficiaries),
    isAmong(projects.countryCode, countryCodes),
    isAmong(projects.vintageYear, vintageYears),
  );
}

/** Whether the table may have to be searched for long: only a token's records have an index in the feed's order. */
export function namesFew({ beneficiaries, countryCodes, vintageYears }: FeedFilter): boolean {
  return beneficiaries != null || countryCodes != null || vintageYears != null;
}
