/**
 * Adds up retirements by day, project, country or vintage: from the totals that the database keeps, or, for
 * given beneficiaries, from their records.
 */
import { and, eq, isNotNull, isNull, or, sql, type SQL } from 'drizzle-orm';
import { isAmong, isWithin, matching } from '../../db/conditions.ts';
import { countUpTo, type KeysetPage, type PageSource } from '../../db/keyset.ts';
import { projects, retirementRecords, retirementTotals } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import { isOf } from './listRetirementRecords.ts';
import { matchingProjects, type RecordFilter } from './recordFilter.ts';

export const RETIREMENT_GROUPS = ['DAY', 'PROJECT', 'COUNTRY', 'VINTAGE'] as const;
export type RetirementGroup = (typeof RETIREMENT_GROUPS)[number];

export interface RetirementTotal {
  groupBy: RetirementGroup;
  /** Days since 1970, a project's id, a country's code or a year. */
  key: string;
  amountBaseUnits: bigint;
  retirements: number;
}

/** Position in a list. Days are ordered by day, all other groups by amount. */
export interface TotalsCursor {
  value: string;
  key: string;
}

const DAY_SECONDS = 86_400n;
/** Limit for given beneficiaries; adding up so many records takes a tenth of a second. */
const MAX_RECORDS_ADDED_UP = 50_000;

type TotalsNeeds = Needs<'db' | 'network'>;

const DIMENSIONS = {
  countryCodes: isAmong(retirementTotals.countryCode),
  vintageYears: isAmong(retirementTotals.vintageYear),
};

/**
 * Lists groups that have retirements, in descending order. Its pages and its count throw DomainError
 * BAD_USER_INPUT for times within a day. Its pages throw RESULT_TOO_LARGE for too many records of
 * beneficiaries; its count, which is given with a page, does not.
 */
export function readRetirementTotals(
  { publicReads, network }: Needs<'publicReads' | 'network'>,
  groupBy: RetirementGroup,
  filter: RecordFilter,
): PageSource<RetirementTotal, TotalsCursor> {
  return {
    list: (page) => publicReads.run((db) => selectTotals({ db, network }, groupBy, filter, page)),
    cursorOf: ({ key, amountBaseUnits }) => ({
      value: groupBy === 'DAY' ? key : amountBaseUnits.toString(),
      key,
    }),
    count: () => publicReads.run((db) => countGroups({ db, network }, groupBy, filter)),
  };
}

async function selectTotals(
  deps: TotalsNeeds,
  groupBy: RetirementGroup,
  filter: RecordFilter,
  page: KeysetPage<TotalsCursor>,
): Promise<RetirementTotal[]> {
  const isTooLarge =
    filter.beneficiaries == null ? sql`false` : sql`(SELECT count(*) > ${MAX_RECORDS_ADDED_UP} FROM source)`;
  const value = groupBy === 'DAY' ? sql`key::numeric` : sql`sum(amount_base_units)`;
  const beyond = and(
    sql`sum(retirements) > 0`,
    page.after && sql`(${value}, key) < (${page.after.value}::numeric, ${page.after.key})`,
    page.before && sql`(${value}, key) > (${page.before.value}::numeric, ${page.before.key})`,
  );
  const direction = sql.raw(page.inverted ? 'ASC' : 'DESC');
  const source = readSource(deps, groupBy, filter);
  // An empty page has to be refused too: its groups may be among the records that were not read.
  const rows = await deps.db.execute<{
    key: string;
    amount_base_units: string;
    retirements: number;
    too_large: boolean;
  }>(
    sql`WITH source (key, amount_base_units, retirements) AS ${source}
      SELECT key, sum(amount_base_units)::text AS amount_base_units, sum(retirements)::int AS retirements,
        ${isTooLarge} AS too_large
      FROM source GROUP BY key HAVING ${or(isTooLarge, beyond)} ORDER BY ${value} ${direction}, key ${direction} LIMIT ${page.limit}`,
  );
  if (rows.some((row) => row.too_large)) throw tooManyRecords();
  return rows.map(({ key, amount_base_units: amount, retirements }) => ({
    groupBy,
    key,
    amountBaseUnits: BigInt(amount),
    retirements,
  }));
}

async function countGroups(
  deps: TotalsNeeds,
  groupBy: RetirementGroup,
  filter: RecordFilter,
): Promise<number> {
  return countUpTo(
    deps.db,
    sql`SELECT FROM ${readSource(deps, groupBy, filter)} AS source (key, amount_base_units, retirements)
      GROUP BY key HAVING sum(retirements) > 0`,
  );
}

/** The day of a total, in UTC, as YYYY-MM-DD. */
export function calendarDay({ key }: RetirementTotal): string {
  return new Date(Number(BigInt(key) * DAY_SECONDS) * 1000).toISOString().slice(0, 10);
}

/** The rows to add up, each with its group's key as text. */
function readSource(deps: TotalsNeeds, groupBy: RetirementGroup, filter: RecordFilter): SQL {
  if (filter.beneficiaries != null) return ofBeneficiaries(deps, groupBy, filter, filter.beneficiaries);
  const from = toDay('from', filter.from);
  const until = toDay('until', filter.until);
  const { projectId, countryCode, vintageYear, day, amountBaseUnits, retirements } = retirementTotals;
  const range = matching(isWithin(day), { from, until }, deps);
  const isByDay = groupBy === 'DAY' || from !== null || until !== null;
  const dimension = isByDay ? onlyDimension(groupBy, filter) : 'PROJECT';
  if (dimension === 'PROJECT') {
    const selection = matchingProjects(deps, filter);
    // A year has hundreds of thousands of rows by project and day, and reading the project of each takes four
    // times as long.
    const isJoined = selection !== undefined || groupBy !== 'PROJECT';
    const key = isJoined ? keyOf(groupBy, day) : sql`${projectId}::text`;
    const join = isJoined ? sql`JOIN ${projects} ON ${projects.id} = ${projectId}` : sql``;
    return sql`(SELECT ${key}, ${amountBaseUnits}, ${retirements} FROM ${retirementTotals} ${join}
      WHERE ${and(isNotNull(projectId), isByDay ? isNotNull(day) : isNull(day), range, selection)})`;
  }
  const keys = { DAY: day, COUNTRY: countryCode, VINTAGE: vintageYear };
  const condition = and(
    isNull(projectId),
    dimension === 'COUNTRY' ? isNotNull(countryCode) : isNull(countryCode),
    dimension === 'VINTAGE' ? isNotNull(vintageYear) : isNull(vintageYear),
    isNotNull(day),
    range,
    matching(DIMENSIONS, filter, deps),
  );
  const key = groupBy === 'DAY' ? day : keys[dimension];
  return sql`(SELECT ${key}::text, ${amountBaseUnits}, ${retirements} FROM ${retirementTotals} WHERE ${condition})`;
}

/** The dimension whose daily totals are stored, if grouping and filter use only one; otherwise PROJECT. */
function onlyDimension(groupBy: RetirementGroup, filter: RecordFilter): RetirementGroup {
  const named = new Set<RetirementGroup>([
    ...(groupBy === 'DAY' ? [] : [groupBy]),
    ...(filter.tokenAddresses == null ? [] : (['PROJECT'] as const)),
    ...(filter.countryCodes == null ? [] : (['COUNTRY'] as const)),
    ...(filter.vintageYears == null ? [] : (['VINTAGE'] as const)),
  ]);
  const [first = 'DAY'] = named;
  return named.size > 1 ? 'PROJECT' : first;
}

function ofBeneficiaries(
  deps: TotalsNeeds,
  groupBy: RetirementGroup,
  filter: RecordFilter,
  beneficiaries: readonly string[],
): SQL {
  const { timestamp, projectId, amountBaseUnits } = retirementRecords;
  const names = [...new Set(beneficiaries)].map(isOf);
  const key = keyOf(groupBy, sql`(${timestamp} / ${sql.raw(String(DAY_SECONDS))})`);
  const condition = and(matching(isWithin(timestamp), filter, deps), matchingProjects(deps, filter));
  const parts = names.map(
    (isNamed) => sql`(SELECT ${key}, ${amountBaseUnits}, 1 FROM ${retirementRecords}
      JOIN ${projects} ON ${eq(projects.id, projectId)} WHERE ${and(isNamed, condition)})`,
  );
  return parts.length === 0
    ? sql`(SELECT '', 0, 0 WHERE false)`
    : sql`(${sql.join(parts, sql` UNION ALL `)} LIMIT ${MAX_RECORDS_ADDED_UP + 1})`;
}

function keyOf(groupBy: RetirementGroup, day: SQL | typeof retirementTotals.day): SQL {
  if (groupBy === 'DAY') return sql`${day}::text`;
  if (groupBy === 'PROJECT') return sql`${projects.id}::text`;
  return groupBy === 'COUNTRY' ? sql`${projects.countryCode}` : sql`${projects.vintageYear}::text`;
}

function toDay(field: 'from' | 'until', seconds: bigint | null | undefined): bigint | null {
  if (seconds == null) return null;
  if (seconds % DAY_SECONDS === 0n) return seconds / DAY_SECONDS;
  throw new DomainError(
    'BAD_USER_INPUT',
    `Totals are kept by whole days: ${field} must be the beginning of a day in UTC, a multiple of ${DAY_SECONDS}; it is ${seconds}.`,
    { field: `filter.${field}` },
  );
}

function tooManyRecords(): DomainError {
  return new DomainError(
    'RESULT_TOO_LARGE',
    `These beneficiaries have more than ${MAX_RECORDS_ADDED_UP} retirements. Ask for fewer of them, or for a shorter time.`,
    { limit: MAX_RECORDS_ADDED_UP },
  );
}
