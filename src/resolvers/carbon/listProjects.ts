/**
 * Lists projects: filtered, sorted, a page at a time. Also lists the kinds of projects and credits.
 */
import { sql } from 'drizzle-orm';
import {
  isAmong,
  isAtLeast,
  isAtMost,
  isTrueOf,
  isWithin,
  matching,
  type FilterOf,
} from '../../db/conditions.ts';
import { readNames } from '../core/distinctNames.ts';
import {
  countRows,
  listRows,
  type KeysetCursor,
  type KeysetOrder,
  type PageSource,
} from '../../db/keyset.ts';
import { accounts, projects } from '../../db/tables/index.ts';
import { spellingKey } from '../core/spellingKey.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Project } from './findProject.ts';

const unsold = (min: bigint) => sql`EXISTS (SELECT 1 FROM ${accounts} a
  WHERE a.project_id = ${projects.id} AND a.kind = 'inventory' AND a.balance_tonnes >= ${min})`;

const FILTER = {
  assetIds: (assetIds: readonly string[]) => isAmong(projects.assetKey)(assetIds.map(spellingKey)),
  countryCodes: isAmong(projects.countryCode),
  vintageYears: isAmong(projects.vintageYear),
  projectTypes: isAmong(projects.projectType),
  creditTypes: isAmong(projects.creditType),
  states: isAmong(projects.state),
  /** Whether the project is OPEN and has unsold credits. */
  buyable: isTrueOf(sql`(${projects.state} = 'OPEN' AND ${unsold(1n)})`),
  minUnsoldTonnes: unsold,
  minQuantityCO2e: isAtLeast(projects.quantityTonnes),
  maxQuantityCO2e: isAtMost(projects.quantityTonnes),
  ...isWithin(projects.createdAt),
};

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
  filter: FilterOf<typeof FILTER>,
  order: ProjectOrder,
): PageSource<Project, KeysetCursor> {
  const condition = matching(FILTER, filter, null);
  return {
    list: (page) => publicReads.run((db) => listRows(db, projects, ORDERS[order], page, condition)),
    cursorOf: (project) => ({ value: orderedValueOf(project, ORDERS[order]), id: project.id }),
    count: () => publicReads.run((db) => countRows(db, projects, condition)),
  };
}

export function listProjectTypes({ db }: Needs<'db'>): Promise<string[]> {
  return readNames(db, projects, projects.projectType);
}

export function listCreditTypes({ db }: Needs<'db'>): Promise<string[]> {
  return readNames(db, projects, projects.creditType);
}

function orderedValueOf(project: Project, { column }: KeysetOrder): string {
  if (column === projects.createdAt) return project.createdAt.toISOString();
  return String(column === projects.vintageYear ? project.vintageYear : project.quantityTonnes);
}
