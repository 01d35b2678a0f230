/**
 * Finds projects by id, token address or asset id.
 */
import { and, eq, sql } from 'drizzle-orm';
import { findBy, finderOf, findersOf } from '../../db/findByIds.ts';
import { createSharedRead } from '../../db/sharedReads.ts';
import { projects } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { spellingKey } from '../core/spellingKey.ts';
import type { FollowedKind } from '../core/changeFollower.ts';
import type { Needs } from '../core/dependencies.ts';

export type Project = typeof projects.$inferSelect;
/** A project whose token is deployed. */
export type TokenizedProject = Project & { tokenAddress: string };

type Finder = Needs<'db' | 'network'>;

/** The usual argument for a project's token, as a dotted path from the arguments. */
const INPUT_TOKEN = 'input.tokenAddress';

const findProjectsByToken = findBy(projects, projects.tokenAddress);

/** Concurrent requests share a statement: most begin with this read, including purchases and retirements. */
const readProjectByToken = createSharedRead<string, TokenizedProject>(async (db, addresses) => {
  const found = await findProjectsByToken(db, addresses);
  return new Map(
    found.flatMap((project) => {
      const { tokenAddress } = project;
      return tokenAddress === null ? [] : [[tokenAddress, { ...project, tokenAddress }]];
    }),
  );
});

export const findProjectById = finderOf(projects);
export const findProjectsByIds = findersOf(projects);

/** How subscribers follow projects. */
export const FOLLOWED_PROJECTS: FollowedKind<Project> = {
  findMany: findProjectsByIds,
  hasEnded: ({ state }) => state === 'OPEN' || state === 'REFUSED',
  hidden: [],
};

export async function findProjectByToken(
  deps: Finder,
  tokenAddress: string,
): Promise<TokenizedProject | null> {
  const address = deps.network.normalizeAddress(tokenAddress);
  if (address === null) return null;
  return readProjectByToken(deps.db, address);
}

/** Finds the project of an asset id that is not refused; there is at most one. */
export async function findProjectByAsset(deps: Pick<Finder, 'db'>, assetId: string): Promise<Project | null> {
  const [project] = await deps.db
    .select()
    .from(projects)
    // The state is a constant, as in the partial index: a cached plan can't match a parameter to that index.
    .where(and(eq(projects.assetKey, spellingKey(assetId)), sql`${projects.state} <> 'REFUSED'`));
  return project ?? null;
}

/**
 * @param field where the client gave the address
 * @throws DomainError NOT_FOUND
 */
export async function requireProjectByToken(
  deps: Finder,
  tokenAddress: string,
  field = INPUT_TOKEN,
): Promise<TokenizedProject> {
  const project = await findProjectByToken(deps, tokenAddress);
  if (!project) throw unknownToken(tokenAddress, field);
  return project;
}

/**
 * For use cases that look up the project in the statement that writes.
 * @returns the address as it is stored.
 * @throws DomainError NOT_FOUND when the text is not an address of the network
 */
export function requireTokenAddress({ network }: Pick<Finder, 'network'>, tokenAddress: string): string {
  const address = network.normalizeAddress(tokenAddress);
  if (address === null) throw unknownToken(tokenAddress);
  return address;
}

export function unknownToken(tokenAddress: string, field = INPUT_TOKEN): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `No project of this platform has a token at "${tokenAddress}". The query "projects" lists those that exist.`,
    { field },
  );
}
