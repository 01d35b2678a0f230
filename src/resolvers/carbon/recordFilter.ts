/**
 * Selects the retirement records of a public list or of its totals.
 */
import type { SQL } from 'drizzle-orm';
import { isAmong, matching, type FilterOf } from '../../db/conditions.ts';
import { projects } from '../../db/tables/index.ts';
import { isAmongAddresses } from '../core/addresses.ts';
import type { Needs } from '../core/dependencies.ts';

const PROJECT_MEMBERS = {
  tokenAddresses: isAmongAddresses(projects.tokenAddress),
  countryCodes: isAmong(projects.countryCode),
  vintageYears: isAmong(projects.vintageYear),
};

type ProjectSelection = FilterOf<typeof PROJECT_MEMBERS>;

export interface RecordFilter extends ProjectSelection {
  /** Beneficiaries, in every spelling that the tokens' records may have. */
  beneficiaries?: readonly string[] | null | undefined;
  /** By the network's clock, in Unix seconds; `until` is excluded. */
  from?: bigint | null | undefined;
  until?: bigint | null | undefined;
}

/** The condition on `projects`, or undefined when the selection excludes none. */
export function matchingProjects(deps: Needs<'network'>, selection: ProjectSelection): SQL | undefined {
  return matching(PROJECT_MEMBERS, selection, deps);
}
