/**
 * Many projects in one statement, for lists whose items each name their project.
 */
import { inArray } from 'drizzle-orm';
import { projects } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';
import type { Project } from './findProject.ts';

export async function findProjectsByIds(
  deps: Pick<Dependencies, 'db'>,
  ids: readonly string[],
): Promise<Map<string, Project>> {
  const found = await deps.db
    .select()
    .from(projects)
    .where(inArray(projects.id, [...ids]));
  return new Map(found.map((project) => [project.id, project]));
}
