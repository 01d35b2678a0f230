/**
 * Lists the retirement records of all tokens, newest first.
 *
 * Each page merges the newest records of every named beneficiary, or of every selected project. They are read
 * in the order of an index, so the cost of a page does not grow with the number of records.
 */
import { and, asc, desc, eq, exists, inArray, sql, type SQL } from 'drizzle-orm';
import { isWithin, matching } from '../../db/conditions.ts';
import { countUpTo, type KeysetPage, type PageSource } from '../../db/keyset.ts';
import { MAX_COUNTED } from '../../lib/pageSizes.ts';
import { projects, retirementRecords } from '../../db/tables/index.ts';
import type { FeedRecord } from '../../feed/followFeed.ts';
import type { Needs } from '../core/dependencies.ts';
import { matchingProjects, type RecordFilter } from './recordFilter.ts';

type ListNeeds = Needs<'publicReads' | 'network'>;
type SourceNeeds = Needs<'db' | 'network'>;

/** A record's place in the list. */
export type RecordCursor = Pick<FeedRecord, 'timestamp' | 'position'>;

const { timestamp, position, beneficiary, projectId } = retirementRecords;

export function listRetirementRecords(
  { publicReads, network }: ListNeeds,
  filter: RecordFilter,
): PageSource<FeedRecord, RecordCursor> {
  return {
    list: (page) => publicReads.run((db) => selectRecords({ db, network }, filter, page)),
    cursorOf: (record) => ({ timestamp: record.timestamp, position: record.position }),
    count: () => publicReads.run((db) => countRecords({ db, network }, filter)),
  };
}

async function selectRecords(
  deps: SourceNeeds,
  filter: RecordFilter,
  page: KeysetPage<RecordCursor>,
): Promise<FeedRecord[]> {
  const by = page.inverted ? asc : desc;
  const order = [by(timestamp), by(position)];
  const first = (
    condition: SQL | undefined,
  ) => sql`(SELECT ${timestamp}, ${position} FROM ${retirementRecords}
    WHERE ${and(sql`true`, condition, ...beyond(page))} ORDER BY ${sql.join(order, sql`, `)} LIMIT ${page.limit})`;
  const direction = sql.raw(page.inverted ? 'ASC' : 'DESC');
  const positions = sql`(SELECT found.position FROM (${sources(deps, filter, first)}) AS found (timestamp, position)
    ORDER BY found.timestamp ${direction}, found.position ${direction} LIMIT ${page.limit})`;
  return deps.db
    .select()
    .from(retirementRecords)
    .where(inArray(position, positions))
    .orderBy(...order);
}

async function countRecords(deps: SourceNeeds, filter: RecordFilter): Promise<number> {
  const some = (condition: SQL | undefined) => sql`(SELECT ${timestamp}, ${position} FROM ${retirementRecords}
    WHERE ${condition ?? sql`true`} LIMIT ${MAX_COUNTED})`;
  return countUpTo(deps.db, sql`SELECT FROM (${sources(deps, filter, some)}) AS found`);
}

/**
 * Unites the results of `read` for each beneficiary, each project, or everything. The beneficiaries are
 * constants of the statement: a plan for any beneficiary would sort all records of the one with the most.
 */
function sources(deps: SourceNeeds, filter: RecordFilter, read: (condition: SQL | undefined) => SQL): SQL {
  const { beneficiaries } = filter;
  const selection = matchingProjects(deps, filter);
  const range = matching(isWithin(timestamp), filter, deps);
  if (beneficiaries != null) {
    const names = [...new Set(beneficiaries)];
    const inSelection =
      selection &&
      exists(
        deps.db
          .select()
          .from(projects)
          .where(and(eq(projects.id, projectId), selection)),
      );
    return names.length === 0
      ? read(sql`false`)
      : sql.join(
          names.map((name) => read(and(isOf(name), range, inSelection))),
          sql` UNION ALL `,
        );
  }
  if (selection === undefined) return read(range);
  return sql`SELECT own.timestamp, own.position FROM ${projects}
    CROSS JOIN LATERAL ${read(and(eq(projectId, projects.id), range))} AS own WHERE ${selection}`;
}

/** The index has hashes; two texts may have the same hash. */
export function isOf(name: string): SQL {
  return sql`(hashtextextended(${beneficiary}, 0) = hashtextextended(${name}, 0) AND ${beneficiary} = ${name})`;
}

function beyond({ after, before }: KeysetPage<RecordCursor>): (SQL | undefined)[] {
  return [
    after && sql`(${timestamp}, ${position}) < (${after.timestamp}, ${after.position})`,
    before && sql`(${timestamp}, ${position}) > (${before.timestamp}, ${before.position})`,
  ];
}
