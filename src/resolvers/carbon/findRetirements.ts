/**
 * Many retirements in one statement, for lists whose items each name one.
 */
import { inArray } from 'drizzle-orm';
import { retirements } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Retirement } from './findRetirement.ts';

export async function findRetirementsByIds(
  deps: Needs<'db'>,
  ids: readonly string[],
): Promise<Map<string, Retirement>> {
  const found = await deps.db
    .select()
    .from(retirements)
    .where(inArray(retirements.id, [...ids]));
  return new Map(found.map((retirement) => [retirement.id, retirement]));
}
