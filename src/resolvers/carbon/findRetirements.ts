/**
 * Many retirements in one statement, for lists whose items each name one.
 */
import { findByIds } from '../../db/findByIds.ts';
import { retirements } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Retirement } from './findRetirement.ts';

export function findRetirementsByIds(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<Map<string, Retirement>> {
  return findByIds(deps.db, retirements, ids);
}
