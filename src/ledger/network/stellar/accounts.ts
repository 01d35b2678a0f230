/**
 * The accounts that sign: which they are, and the sequence that the network expects of each next.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { Address } from '../port.ts';
import { accountKey } from './addresses.ts';
import { MAX_ENTRIES_PER_ASK } from './node.ts';
import type { StellarNode } from './node.ts';

export interface AccountState {
  sequence: bigint;
  balanceStroops: bigint;
  /** The ledger in which `sequence` was used; null where the account does not tell. */
  usedInLedger: bigint | null;
}

export interface AccountStates {
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

/** Kept since protocol 19, in the third extension of the entry. */
function usedInLedgerOf(entry: xdr.AccountEntry): bigint | null {
  const first = entry.ext().switch() === 1 ? entry.ext().v1().ext() : null;
  const second = first?.switch() === 2 ? first.v2().ext() : null;
  return second?.switch() === 3 ? BigInt(second.v3().seqLedger()) : null;
}

/**
 * Of each account that exists, the sequence of its next transaction.
 * @throws NetworkUnavailable when none of them exists
 */
export async function readNextSequences(
  node: StellarNode,
  addresses: readonly Address[],
): Promise<Map<Address, bigint>> {
  const { byAddress } = await readAccounts(node, addresses);
  if (byAddress.size === 0) {
    throw new NetworkUnavailable(
      `None of the signing accounts exists on the network (${addresses.slice(0, 3).join(', ')}): fund them with XLM`,
    );
  }
  return new Map([...byAddress].map(([address, { sequence }]) => [address, sequence + 1n]));
}
