/**
 * The families of networks that this build supports. A new family is a folder with a family.ts, and an entry
 * here.
 */
import { embedded } from './embedded/family.ts';
import { evm } from './evm/family.ts';
import type { ConfiguredLedger, NetworkFamily } from './family.ts';
import { stellar } from './stellar/family.ts';

/**
 * In the order in which settings and messages name the families. The default is the first network of the
 * first one.
 */
export const FAMILIES = [embedded, stellar, evm] as const;

type Family = (typeof FAMILIES)[number];
export type LedgerNetworkName = Family['names'][number];
export type LedgerConfig = ReturnType<Family['configure']>;

export function familyOf(ledger: ConfiguredLedger): NetworkFamily {
  return find(ledger.family, ({ id }) => id === ledger.family);
}

/** The family that has this value of LEDGER_NETWORK. */
export function familyNamed(network: LedgerNetworkName): NetworkFamily {
  return find(network, ({ names }) => names.includes(network));
}

/** Safe, because each family gets only values that it has read and made itself. */
function find(name: string, isIt: (family: NetworkFamily) => boolean): NetworkFamily {
  const found = (FAMILIES as readonly NetworkFamily[]).find(isIt);
  if (found) return found;
  throw new Error(`No family of networks has ${name}`);
}
