/**
 * The filter of a feed subscriber, as a condition on the table and as a test of a record in memory. Records
 * that don't match still advance the subscriber's cursor.
 */
import { eq, type SQL } from 'drizzle-orm';
import { isAmong, matching, type FilterOf } from '../db/conditions.ts';
import { projects, retirementRecords } from '../db/tables/index.ts';

export type FeedRecord = typeof retirementRecords.$inferSelect;

/** A record with the fields of its project, which never change. */
export interface PlacedRecord extends FeedRecord {
  countryCode: string;
  vintageYear: number;
}

const MEMBERS = {
  tokenAddress: (address: string) => eq(retirementRecords.tokenAddress, address),
  beneficiaries: isAmong(retirementRecords.beneficiary),
  countryCodes: isAmong(projects.countryCode),
  vintageYears: isAmong(projects.vintageYear),
};

/** A record must match each member that is given; an empty list matches none. */
export type FeedFilter = FilterOf<typeof MEMBERS>;

/** The filter of most subscribers. They share this object, so that their pages are recognised as the same. */
const EVERYTHING: FeedFilter = {};

/** The shared EVERYTHING for a filter without members, else the filter itself. */
export function commonFilter(filter: FeedFilter): FeedFilter {
  return Object.values(filter).every((member) => member == null) ? EVERYTHING : filter;
}

/** Like conditionOf, for a record in memory. */
export function matches(filter: FeedFilter, record: PlacedRecord): boolean {
  const { tokenAddress, beneficiaries, countryCodes, vintageYears } = filter;
  return (
    (tokenAddress == null || record.tokenAddress === tokenAddress) &&
    (beneficiaries == null || beneficiaries.includes(record.beneficiary)) &&
    (countryCodes == null || countryCodes.includes(record.countryCode)) &&
    (vintageYears == null || vintageYears.includes(record.vintageYear))
  );
}

/** A condition on a record joined with its project. */
export function conditionOf(filter: FeedFilter): SQL | undefined {
  return matching(MEMBERS, filter, null);
}

/** Whether a search of the table may take long: only a token's records have an index in the feed's order. */
export function namesFew({ beneficiaries, countryCodes, vintageYears }: FeedFilter): boolean {
  return beneficiaries != null || countryCodes != null || vintageYears != null;
}
