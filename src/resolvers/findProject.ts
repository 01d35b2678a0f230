/**
 * Finding projects by what clients know of them.
 */
import { eq } from 'drizzle-orm';
import { projects } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { Dependencies } from './dependencies.ts';

export type Project = typeof projects.$inferSelect;
/** A project whose token is deployed. */
export type TokenizedProject = Project & { tokenAddress: string };

type Finder = Pick<Dependencies, 'db' | 'network'>;

export async function findProjectById(deps: Pick<Finder, 'db'>, id: string): Promise<Project | null> {
  const [project] = await deps.db.select().from(projects).where(eq(projects.id, id));
  return project ?? null;
}

export async function findProjectByToken(
  deps: Finder,
  tokenAddress: string,
): Promise<TokenizedProject | null> {
  const address = deps.network.normalizeAddress(tokenAddress);
  if (address === null) return null;
  const [project] = await deps.db.select().from(projects).where(eq(projects.tokenAddress, address));
  return project ? { ...project, tokenAddress: address } : null;
}

/**
 * @param field where the client gave the address, as a dotted path from the arguments.
 * @throws DomainError NOT_FOUND
 */
export async function requireProjectByToken(
  deps: Finder,
  tokenAddress: string,
  field = 'tokenAddress',
): Promise<TokenizedProject> {
  const project = await findProjectByToken(deps, tokenAddress);
  if (!project) {
    throw new DomainError(
      'NOT_FOUND',
      `No project of this platform has a token at "${tokenAddress}". The query "projects" lists those that exist.`,
      { field },
    );
  }
  return project;
}
