/**
 * The accounts that sign: which exist, and the sequence that the network expects next of each.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { Address, NextSequences, SigningOrder } from '../port.ts';
import { accountKey } from './addresses.ts';
import { MAX_ENTRIES_PER_ASK } from './node.ts';
import type { StellarNode } from './node.ts';

interface AccountState {
  sequence: bigint;
  balanceStroops: bigint;
  /** The ledger in which `sequence` was used; null when the account does not record it. */
  usedInLedger: bigint | null;
}

interface AccountStates {
  latestLedger: bigint;
  /** Accounts that do not exist on the network are missing. */
  byAddress: ReadonlyMap<Address, AccountState>;
}

export async function readAccounts(node: StellarNode, addresses: readonly Address[]): Promise<AccountStates> {
  if (addresses.length > MAX_ENTRIES_PER_ASK) {
    throw new RangeError(`${addresses.length} accounts asked for; at most ${MAX_ENTRIES_PER_ASK}`);
  }
  const { latestLedger, byKey } = await node.entries(addresses.map(accountKey));
  const byAddress = new Map<Address, AccountState>();
  for (const address of addresses) {
    const entry = byKey.get(accountKey(address).toXDR('base64'))?.account();
    if (!entry) continue;
    byAddress.set(address, {
      sequence: entry.seqNum().toBigInt(),
      balanceStroops: entry.balance().toBigInt(),
      usedInLedger: usedInLedgerOf(entry),
    });
  }
  return { latestLedger, byAddress };
}

/** Recorded since protocol 19, in the third extension of the entry. */
function usedInLedgerOf(entry: xdr.AccountEntry): bigint | null {
  const first = entry.ext().switch() === 1 ? entry.ext().v1().ext() : null;
  const second = first?.switch() === 2 ? first.v2().ext() : null;
  return second?.switch() === 3 ? BigInt(second.v3().seqLedger()) : null;
}

interface SigningAccounts {
  order: SigningOrder;
  /** The next sequence of each account that exists. @throws NetworkUnavailable when none of them exists */
  nextSequences(): Promise<NextSequences>;
}

/**
 * A channel that was never funded, or was closed, must not stop the others from signing: it is left out while it is
 * missing.
 * @param warn called when an account is missing, and when it exists again
 */
export function createSigningAccounts(
  node: StellarNode,
  configured: readonly Address[],
  warn: (message: string) => void,
): SigningAccounts {
  let missing: readonly Address[] = [];

  function note(found: AccountStates['byAddress']): void {
    const before = new Set(missing);
    missing = configured.filter((address) => !found.has(address));
    for (const address of missing) {
      if (before.delete(address)) continue;
      warn(
        `the signing account ${address} does not exist on the network and is left out: fund it with XLM, or remove its key`,
      );
    }
    for (const address of before) warn(`the signing account ${address} exists now: it signs again`);
  }

  return {
    order: {
      get accounts() {
        return missing.length === 0 ? configured : configured.filter((address) => !missing.includes(address));
      },
      get missing() {
        return missing.length === 0 ? undefined : missing;
      },
      // The network keeps one waiting transaction per account.
      maxOpenPerAccount: 1,
    },
    async nextSequences() {
      const { byAddress } = await readAccounts(node, configured);
      if (byAddress.size === 0) {
        throw new NetworkUnavailable(
          `None of the signing accounts exists on the network (${configured.slice(0, 3).join(', ')}): fund them with XLM`,
        );
      }
      note(byAddress);
      return new Map([...byAddress].map(([address, { sequence }]) => [address, sequence + 1n]));
    },
  };
}
