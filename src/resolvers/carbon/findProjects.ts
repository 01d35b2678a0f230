/**
 * Many projects in one statement, for lists whose items each name their project.
 */
import { inArray } from 'drizzle-orm';
import { projects } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { SubjectKind } from '../core/subjectFollower.ts';
import type { Project } from './findProject.ts';

/** Projects, as they are followed. */
export const FOLLOWED_PROJECTS: SubjectKind<Project> = {
  readMany: (db, ids) => findProjectsByIds({ db }, ids),
  isFinal: ({ state }) => state === 'OPEN' || state === 'REFUSED',
  hidden: [],
};

export async function findProjectsByIds(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<Map<string, Project>> {
  const found = await deps.db
    .select()
    .from(projects)
    .where(inArray(projects.id, [...ids]));
  return new Map(found.map((project) => [project.id, project]));
}
