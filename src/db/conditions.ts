/**
 * The conditions of a list's filter, one for each member: undefined for a member that is not given.
 */
import { and, gte, inArray, lt, lte, sql, type AnyColumn, type SQL } from 'drizzle-orm';

type Given<Value> = Value | null | undefined;

/** One of the values; an empty list matches nothing. */
export function isAmong(column: AnyColumn, values: Given<readonly unknown[]>): SQL | undefined {
  return values == null ? undefined : inArray(column, [...new Set(values)]);
}

/** From a time on and before another, in Unix seconds. */
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
