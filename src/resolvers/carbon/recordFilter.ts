/**
 * Selects the retirement records of a public list or of its totals.
 */
import { and, isNotNull, type SQL } from 'drizzle-orm';
import { isAmong } from '../../db/conditions.ts';
import { projects } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

/** A record must match one of the values of each member that is given; an empty list matches none. */
interface ProjectSelection {
  tokenAddresses?: readonly string[] | null | undefined;
  countryCodes?: readonly string[] | null | undefined;
  vintageYears?: readonly number[] | null | undefined;
}

export interface RecordFilter extends ProjectSelection {
  /** Beneficiaries, in every spelling that the tokens' records may have. */
  beneficiaries?: readonly string[] | null | undefined;
  /** By the network's clock, in Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

/** The condition on `projects`, or undefined when the selection excludes none. */
export function matchingProjects(
  { network }: Needs<'network'>,
  { tokenAddresses, countryCodes, vintageYears }: ProjectSelection,
): SQL | undefined {
  const addresses = tokenAddresses?.flatMap((text) => network.normalizeAddress(text) ?? []);
  const conditions = [
    isAmong(projects.tokenAddress, addresses),
    isAmong(projects.countryCode, countryCodes),
    isAmong(projects.vintageYear, vintageYears),
  ];
  return conditions.every((condition) => condition === undefined)
    ? undefined
    : and(isNotNull(projects.tokenAddress), ...conditions);
}
