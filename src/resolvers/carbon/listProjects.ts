/**
 * Lists projects: filtered, sorted, a page at a time. Also lists the kinds of projects and credits.
 */
import { and, sql, type SQL } from 'drizzle-orm';
import { isAmong, isBetween, isTrueOf, isWithin } from '../../db/conditions.ts';
import { readNames } from '../../db/distinctNames.ts';
import {
  countRows,
  listRows,
  type KeysetCursor,
  type KeysetOrder,
  type PageSource,
} from '../../db/keyset.ts';
import { accounts, projects } from '../../db/tables/index.ts';
import { spellingKey } from '../../lib/spellingKey.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Project } from './findProject.ts';

interface ProjectFilter {
  assetIds?: readonly string[] | null | undefined;
  countryCodes?: readonly string[] | null | undefined;
  vintageYears?: readonly number[] | null | undefined;
  projectTypes?: readonly string[] | null | undefined;
  creditTypes?: readonly string[] | null | undefined;
  states?: readonly Project['state'][] | null | undefined;
  /** Whether the project is OPEN and has unsold credits. */
  isBuyable?: boolean | null | undefined;
  minUnsoldTonnes?: bigint | null | undefined;
  minQuantityCO2e?: bigint | null | undefined;
  maxQuantityCO2e?: bigint | null | undefined;
  /** When the project was submitted, in Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

const ORDERS = {
  NEWEST: { column: projects.createdAt, id: projects.id, type: 'timestamptz', direction: 'desc' },
  OLDEST: { column: projects.createdAt, id: projects.id, type: 'timestamptz', direction: 'asc' },
  VINTAGE_NEWEST: { column: projects.vintageYear, id: projects.id, type: 'integer', direction: 'desc' },
  VINTAGE_OLDEST: { column: projects.vintageYear, id: projects.id, type: 'integer', direction: 'asc' },
  QUANTITY_LARGEST: { column: projects.quantityTonnes, id: projects.id, type: 'bigint', direction: 'desc' },
} as const satisfies Record<string, KeysetOrder>;

export type ProjectOrder = keyof typeof ORDERS;

export function listProjects(
  { publicReads }: Needs<'publicReads'>,
  filter: ProjectFilter,
  order: ProjectOrder,
): PageSource<Project, KeysetCursor> {
  return {
    list: (page) => publicReads.run((db) => listRows(db, projects, ORDERS[order], page, matching(filter))),
    cursorOf: (project) => ({ value: orderedValueOf(project, ORDERS[order]), id: project.id }),
    count: () => publicReads.run((db) => countRows(db, projects, matching(filter))),
  };
}

export function listProjectTypes({ db }: Needs<'db'>): Promise<string[]> {
  return readNames(db, projects, projects.projectType);
}

export function listCreditTypes({ db }: Needs<'db'>): Promise<string[]> {
  return readNames(db, projects, projects.creditType);
}

function matching(filter: ProjectFilter): SQL | undefined {
  const { minUnsoldTonnes } = filter;
  const unsold = (min: bigint) => sql`EXISTS (SELECT 1 FROM ${accounts} a
    WHERE a.project_id = ${projects.id} AND a.kind = 'inventory' AND a.balance_tonnes >= ${min})`;
  const buyable = sql`(${projects.state} = 'OPEN' AND ${unsold(1n)})`;
  return and(
    isAmong(projects.assetKey, filter.assetIds?.map(spellingKey)),
    isAmong(projects.countryCode, filter.countryCodes),
    isAmong(projects.vintageYear, filter.vintageYears),
    isAmong(projects.projectType, filter.projectTypes),
    isAmong(projects.creditType, filter.creditTypes),
    isAmong(projects.state, filter.states),
    isTrueOf(buyable, filter.isBuyable),
    minUnsoldTonnes == null ? undefined : unsold(minUnsoldTonnes),
    isBetween(projects.quantityTonnes, filter.minQuantityCO2e, filter.maxQuantityCO2e),
    isWithin(projects.createdAt, filter.from, filter.until),
  );
}

function orderedValueOf(project: Project, { column }: KeysetOrder): string {
  if (column === projects.createdAt) return project.createdAt.toISOString();
  return String(column === projects.vintageYear ? project.vintageYear : project.quantityTonnes);
}
