/**
 * The accounts that sign: which of them exist, and the sequence that the network expects next for each.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { largest } from '../../../lib/bigints.ts';
import { NetworkUnavailable } from '../port.ts';
import type { Address, LedgerNetwork, SigningOrder } from '../port.ts';
import { accountKey } from './addresses.ts';
import { hasEnoughToSign, MIN_SPENDABLE_STROOPS, RESERVE_STROOPS, showXlm } from './lumens.ts';
import type { StellarNode } from './node.ts';

interface AccountState {
  sequence: bigint;
  balanceStroops: bigint;
  /** The balance above the minimum that the account must keep. Only this part can pay a fee. */
  spendableStroops: bigint;
  /** The ledger in which `sequence` was used; null if the account does not record it. */
  usedInLedger: bigint | null;
}

/** At most MAX_ENTRIES_PER_ASK addresses. Accounts that do not exist on the network are missing. */
export async function readAccounts(node: StellarNode, addresses: readonly Address[]) {
  const { latestLedger, byKey } = await node.entries(addresses.map(accountKey));
  const byAddress = new Map<Address, AccountState>();
  for (const address of addresses) {
    const entry = byKey.get(accountKey(address).toXDR('base64'))?.account();
    if (!entry) continue;
    byAddress.set(address, {
      sequence: entry.seqNum().toBigInt(),
      balanceStroops: entry.balance().toBigInt(),
      spendableStroops: largest(0n, entry.balance().toBigInt() - keptStroops(entry)),
      usedInLedger: usedInLedgerOf(entry),
    });
  }
  return { latestLedger, byAddress };
}

/**
 * The reserves of the account and its entries, except those that others sponsor, plus the lumens that it
 * offers for sale.
 */
function keptStroops(entry: xdr.AccountEntry): bigint {
  const { first, second } = extensionsOf(entry);
  const sponsored = (second?.numSponsoring() ?? 0) - (second?.numSponsored() ?? 0);
  const offeredStroops = first?.liabilities().selling().toBigInt() ?? 0n;
  return BigInt(2 + entry.numSubEntries() + sponsored) * RESERVE_STROOPS + offeredStroops;
}

/** Recorded since protocol 19, in the third extension of the entry. */
function usedInLedgerOf(entry: xdr.AccountEntry): bigint | null {
  const third = extensionsOf(entry).second?.ext();
  return third?.switch() === 3 ? BigInt(third.v3().seqLedger()) : null;
}

/** Each extension is within the previous one; null if the entry ends before it. */
function extensionsOf(entry: xdr.AccountEntry) {
  const first = entry.ext().switch() === 1 ? entry.ext().v1() : null;
  const second = first?.ext().switch() === 2 ? first.ext().v2() : null;
  return { first, second };
}

/**
 * Leaves out a channel while it is not funded, is closed or has spent its lumens, so that it does not stop
 * the others from signing.
 * @param warn called when an account is missing or short of lumens, and when it signs again
 */
export function createSigningAccounts(
  node: StellarNode,
  { configured, validitySeconds }: { configured: readonly Address[]; validitySeconds: number },
  warn: (message: string) => void,
): Pick<LedgerNetwork, 'nextSequences'> & { order: SigningOrder } {
  const leastToSpend = `${showXlm(MIN_SPENDABLE_STROOPS)} XLM`;
  const missing = noteChanges(warn, {
    began: 'does not exist on the network and is left out: fund it with XLM, or remove its key',
    ended: 'exists now: it signs again',
  });
  const unfunded = noteChanges(warn, {
    began: `has less than ${leastToSpend} to spend and signs nothing: send it XLM`,
    ended: 'has XLM again: it signs',
  });

  return {
    order: {
      get accounts() {
        const absent = missing.now();
        return absent.length === 0 ? configured : configured.filter((address) => !absent.includes(address));
      },
      get missing() {
        return missing.now();
      },
      get unfunded() {
        return unfunded.now();
      },
      leastToSpend,
      // The network accepts one waiting transaction per account.
      maxOpenPerAccount: 1,
      landsUnseenForSeconds: validitySeconds,
    },
    async nextSequences() {
      const { byAddress } = await readAccounts(node, configured);
      if (byAddress.size === 0) {
        throw new NetworkUnavailable(
          `None of the signing accounts exists on the network (${configured.slice(0, 3).join(', ')}): fund them with XLM`,
        );
      }
      missing.note(configured.filter((address) => !byAddress.has(address)));
      unfunded.note(
        [...byAddress].flatMap(([address, { spendableStroops }]) =>
          hasEnoughToSign(spendableStroops) ? [] : [address],
        ),
      );
      return new Map([...byAddress].map(([address, { sequence }]) => [address, sequence + 1n]));
    },
  };
}

/** Keeps a list of accounts, and warns of each one that enters or leaves the list. */
function noteChanges(warn: (message: string) => void, { began, ended }: { began: string; ended: string }) {
  let known: readonly Address[] = [];
  return {
    now: () => known,
    note(next: readonly Address[]): void {
      for (const address of next) {
        if (!known.includes(address)) warn(`the signing account ${address} ${began}`);
      }
      for (const address of known) {
        if (!next.includes(address)) warn(`the signing account ${address} ${ended}`);
      }
      known = next;
    },
  };
}
