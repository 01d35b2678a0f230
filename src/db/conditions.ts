/**
 * The filter of a list: a table of its members, each with the condition that its value adds. The table is also
 * the type of the filter, so that a member is named once.
 *
 *   { states: isAmong(receipts.state), ...isWithin(receipts.createdAt) }
 */
import { and, arrayOverlaps, gte, inArray, lt, lte, sql, type AnyColumn, type SQL } from 'drizzle-orm';

/** A member's condition. Some also need a part of the use case's dependencies. */
type Condition = (value: never, deps: never) => SQL | undefined;
export type Members = Readonly<Record<string, Condition>>;

/** A member that is not given adds no condition. */
export type FilterOf<Of extends Members> = {
  readonly [Name in keyof Of]?: Parameters<Of[Name]>[0] | null | undefined;
};

/** The dependencies that the conditions need, all together; unknown when none needs any. */
export type NeedsOf<Of extends Members> = Of[keyof Of] extends (value: never, deps: infer Needed) => unknown
  ? Needed
  : never;

/**
 * A row must meet the condition of each given member.
 * @param deps what the conditions need; null when they need nothing
 */
export function matching<Of extends Members>(
  members: Of,
  filter: FilterOf<Of>,
  deps: NeedsOf<Of>,
): SQL | undefined {
  const conditions = Object.entries(members).map(([name, condition]) => {
    const value = filter[name];
    return value == null ? undefined : condition(value, deps as never);
  });
  return and(...conditions);
}

type ValueOf<Column extends AnyColumn> = Column['_']['data'];

/** The column is one of the values; an empty list matches nothing. */
export function isAmong<Column extends AnyColumn>(column: Column) {
  return (values: readonly ValueOf<Column>[]): SQL => inArray(column, [...new Set(values)]);
}

/** The column is a list and has at least one of the values; an empty list of values matches nothing. */
export function hasOneOf(column: AnyColumn) {
  return (values: readonly string[]): SQL =>
    values.length === 0 ? sql`false` : arrayOverlaps(column, [...values]);
}

/** The members `from` and `until` of a column of times: `until` is excluded. */
export function isWithin(column: AnyColumn) {
  return { from: isFrom(column), until: isUntil(column) };
}

/** The column, a timestamp or Unix seconds, is at or after a time in Unix seconds. */
export function isFrom(column: AnyColumn) {
  return (unixSeconds: bigint): SQL => gte(column, inColumn(column, unixSeconds));
}

/** The column, a timestamp or Unix seconds, is before a time in Unix seconds. */
export function isUntil(column: AnyColumn) {
  return (unixSeconds: bigint): SQL => lt(column, inColumn(column, unixSeconds));
}

function inColumn(column: AnyColumn, unixSeconds: bigint): Date | bigint {
  return column.dataType === 'date' ? new Date(Number(unixSeconds) * 1000) : unixSeconds;
}

export function isAtLeast(column: AnyColumn) {
  return (min: bigint): SQL => gte(column, min);
}

export function isAtMost(column: AnyColumn) {
  return (max: bigint): SQL => lte(column, max);
}

/** With `wanted` true, the rows for which the condition is true; with false, all others. */
export function isTrueOf(condition: SQL) {
  return (wanted: boolean): SQL => (wanted ? condition : sql`(${condition}) IS NOT TRUE`);
}
