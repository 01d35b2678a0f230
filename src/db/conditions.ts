/**
 * The conditions of a list's filter, one for each member of the filter; undefined for a member that is not
 * given.
 */
import { and, arrayOverlaps, gte, inArray, lt, lte, sql, type AnyColumn, type SQL } from 'drizzle-orm';

type Given<Value> = Value | null | undefined;

/** The column is one of the values; an empty list matches nothing. */
export function isAmong(column: AnyColumn, values: Given<readonly unknown[]>): SQL | undefined {
  return values == null ? undefined : inArray(column, [...new Set(values)]);
}

/** The column is a list and has at least one of the values; an empty list of values matches nothing. */
export function hasOneOf(column: AnyColumn, values: Given<readonly string[]>): SQL | undefined {
  if (values == null) return undefined;
  return values.length === 0 ? sql`false` : arrayOverlaps(column, [...values]);
}

/** The column, in Unix seconds like the limits, is at or after `from` and before `until`. */
export function isInTime(column: AnyColumn, from: Given<bigint>, until: Given<bigint>): SQL | undefined {
  return and(from == null ? undefined : gte(column, from), until == null ? undefined : lt(column, until));
}

/** Like isInTime, for a column of timestamps. */
export function isWithin(column: AnyColumn, from: Given<bigint>, until: Given<bigint>): SQL | undefined {
  return and(
    from == null ? undefined : gte(column, momentOf(from)),
    until == null ? undefined : lt(column, momentOf(until)),
  );
}

/** The column is at least `min` and at most `max`. */
export function isBetween(column: AnyColumn, min: Given<bigint>, max: Given<bigint>): SQL | undefined {
  return and(min == null ? undefined : gte(column, min), max == null ? undefined : lte(column, max));
}

function momentOf(unixSeconds: bigint): Date {
  return new Date(Number(unixSeconds) * 1000);
}

/** With `wanted` true, the rows for which the condition is true; with false, all others; else all rows. */
export function isTrueOf(condition: SQL, wanted: boolean | null | undefined): SQL | undefined {
  if (wanted == null) return undefined;
  return wanted ? condition : sql`(${condition}) IS NOT TRUE`;
}
