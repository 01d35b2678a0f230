/**
 * The conditions of a list's filter, one for each member: undefined for a member that is not given.
 */
import { and, arrayOverlaps, gte, inArray, lt, lte, sql, type AnyColumn, type SQL } from 'drizzle-orm';

type Given<Value> = Value | null | undefined;

/** One of the values; an empty list matches nothing. */
export function isAmong(column: AnyColumn, values: Given<readonly unknown[]>): SQL | undefined {
  return values == null ? undefined : inArray(column, [...new Set(values)]);
}

/** Of a column that is a list: it has one of the values, perhaps beside others; an empty list matches nothing. */
export function hasOneOf(column: AnyColumn, values: Given<readonly string[]>): SQL | undefined {
  if (values == null) return undefined;
  return values.length === 0 ? sql`false` : arrayOverlaps(column, [...values]);
}

/** From a time on and before another, in Unix seconds, as the column has them, too. */
export function isInTime(column: AnyColumn, from: Given<bigint>, until: Given<bigint>): SQL | undefined {
  return and(from == null ? undefined : gte(column, from), until == null ? undefined : lt(column, until));
}

/** The same of a column of moments. */
export function isWithin(column: AnyColumn, from: Given<bigint>, until: Given<bigint>): SQL | undefined {
  return and(
    from == null ? undefined : gte(column, momentOf(from)),
    until == null ? undefined : lt(column, momentOf(until)),
  );
}

/** At least one amount and at most another. */
export function isBetween(column: AnyColumn, min: Given<bigint>, max: Given<bigint>): SQL | undefined {
  return and(min == null ? undefined : gte(column, min), max == null ? undefined : lte(column, max));
}

function momentOf(unixSeconds: bigint): Date {
  return new Date(Number(unixSeconds) * 1000);
}

/** With true, the rows of which the condition is true; with false, all others; nothing is filtered without either. */
export function isTrueOf(condition: SQL, wanted: boolean | null | undefined): SQL | undefined {
  if (wanted == null) return undefined;
  return wanted ? condition : sql`(${condition}) IS NOT TRUE`;
}
