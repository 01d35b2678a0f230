/**
 * Lists projects: filtered, sorted, a page at a time.
 */
import { and, eq, sql, type SQL } from 'drizzle-orm';
import { countRows, keyset, type KeysetCursor, type KeysetOrder, type KeysetPage } from '../../db/keyset.ts';
import { accounts, projects } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Project } from './findProject.ts';

interface ProjectFilter {
  countryCode?: string | null | undefined;
  vintageYear?: number | null | undefined;
  projectType?: string | null | undefined;
  creditType?: string | null | undefined;
  state?: Project['state'] | null | undefined;
  /** Only projects with unsold credits. */
  available?: boolean | null | undefined;
}

const ORDERS = {
  NEWEST: { column: projects.createdAt, id: projects.id, type: 'timestamptz', direction: 'desc' },
  OLDEST: { column: projects.createdAt, id: projects.id, type: 'timestamptz', direction: 'asc' },
  VINTAGE_NEWEST: { column: projects.vintageYear, id: projects.id, type: 'integer', direction: 'desc' },
  VINTAGE_OLDEST: { column: projects.vintageYear, id: projects.id, type: 'integer', direction: 'asc' },
  QUANTITY_LARGEST: { column: projects.quantityTonnes, id: projects.id, type: 'bigint', direction: 'desc' },
} as const satisfies Record<string, KeysetOrder>;

export type ProjectOrder = keyof typeof ORDERS;

export async function listProjects(
  deps: Needs<'db'>,
  filter: ProjectFilter,
  order: ProjectOrder,
  page: KeysetPage<KeysetCursor>,
): Promise<Project[]> {
  const { where, orderBy } = keyset(ORDERS[order], page);
  return deps.db
    .select()
    .from(projects)
    .where(and(where, matching(filter)))
    .orderBy(...orderBy)
    .limit(page.limit);
}

export function countProjects(deps: Needs<'db'>, filter: ProjectFilter): Promise<number> {
  return countRows(deps.db, projects, matching(filter));
}

function matching(filter: ProjectFilter): SQL | undefined {
  const { countryCode, vintageYear, projectType, creditType, state, available } = filter;
  const unsold = sql`EXISTS (SELECT 1 FROM ${accounts} a
    WHERE a.project_id = ${projects.id} AND a.kind = 'inventory' AND a.balance > 0)`;
  return and(
    countryCode == null ? undefined : eq(projects.countryCode, countryCode),
    vintageYear == null ? undefined : eq(projects.vintageYear, vintageYear),
    projectType == null ? undefined : eq(projects.projectType, projectType),
    creditType == null ? undefined : eq(projects.creditType, creditType),
    state == null ? undefined : eq(projects.state, state),
    available == null ? undefined : available ? unsold : sql`NOT ${unsold}`,
  );
}

/** The cursor that continues after a project in a given order. */
export function projectCursor(order: ProjectOrder, project: Project): KeysetCursor {
  const { column } = ORDERS[order];
  const value =
    column === projects.createdAt
      ? project.createdAt.toISOString()
      : String(column === projects.vintageYear ? project.vintageYear : project.quantityTonnes);
  return { value, id: project.id };
}
