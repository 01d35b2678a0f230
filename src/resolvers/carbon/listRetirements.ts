/**
 * Lists the platform's retirements, newest first: a buyer's own, or all of them for operators.
 */
import { inArray } from 'drizzle-orm';
import { isAmong, isAtLeast, isAtMost, isWithin } from '../../db/conditions.ts';
import { listerOf } from '../../db/keyset.ts';
import { projects, retirements } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import { matchingProjects } from './recordFilter.ts';

export const listRetirements = listerOf(retirements, 'createdAt', {
  buyerIds: isAmong(retirements.buyerId),
  tokenAddresses: (tokenAddresses: readonly string[], deps: Needs<'db' | 'network'>) =>
    inArray(
      retirements.projectId,
      deps.db.select({ id: projects.id }).from(projects).where(matchingProjects(deps, { tokenAddresses })),
    ),
  states: isAmong(retirements.state),
  ...isWithin(retirements.createdAt),
  minTonnes: isAtLeast(retirements.amountTonnes),
  maxTonnes: isAtMost(retirements.amountTonnes),
});
