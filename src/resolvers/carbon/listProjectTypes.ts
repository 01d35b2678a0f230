/**
 * projectTypes: what kinds of projects there are.
 */
import { asc } from 'drizzle-orm';
import { projects } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

/** What a reader chooses from; a platform has a few. */
const MAX_TYPES = 100;

/** In the order of their names. */
export async function listProjectTypes({ db }: Needs<'db'>): Promise<string[]> {
  const { projectType } = projects;
  const rows = await db
    .selectDistinct({ projectType })
    .from(projects)
    .orderBy(asc(projectType))
    .limit(MAX_TYPES);
  return rows.map((row) => row.projectType);
}
