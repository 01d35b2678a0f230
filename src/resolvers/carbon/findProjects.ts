/**
 * Many projects in one statement, for lists whose items each name their project.
 */
import { findByIds } from '../../db/findByIds.ts';
import { projects } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { FollowedKind } from '../core/changeFollower.ts';
import type { Project } from './findProject.ts';

/** Projects, as they are followed. */
export const FOLLOWED_PROJECTS: FollowedKind<Project> = {
  readMany: (db, ids) => findByIds(db, projects, ids),
  hasEnded: ({ state }) => state === 'OPEN' || state === 'REFUSED',
  hidden: [],
};

export function findProjectsByIds(deps: Needs<'db'>, ids: readonly string[]): Promise<Map<string, Project>> {
  return findByIds(deps.db, projects, ids);
}
