/**
 * Account entries: creates them, and changes copies without touching the ledger's entry.
 */
import { Keypair, xdr } from '@stellar/stellar-sdk';

export function newAccount(address: string, balance: bigint, sequence: bigint): xdr.AccountEntry {
  return new xdr.AccountEntry({
    accountId: Keypair.fromPublicKey(address).xdrAccountId(),
    balance: new xdr.Int64(balance),
    seqNum: new xdr.Int64(sequence),
    numSubEntries: 0,
    inflationDest: null,
    flags: 0,
    homeDomain: '',
    thresholds: Buffer.from([1, 0, 0, 0]),
    signers: [],
    // As large as after its first transaction: an entry that grows costs more than a simulation said.
    ext: usedIn({ sequence: 0, closedAt: 0n }),
  });
}

export function withBalance(account: xdr.AccountEntry, balance: bigint): xdr.AccountEntry {
  const changed = copyOf(account);
  changed.balance(new xdr.Int64(balance));
  return changed;
}

/** Records the ledger and time of the sequence's last use, as since protocol 19. */
export function withSequence(
  account: xdr.AccountEntry,
  sequence: bigint,
  ledger: { sequence: number; closedAt: bigint },
): xdr.AccountEntry {
  const changed = copyOf(account);
  changed.seqNum(new xdr.Int64(sequence));
  changed.ext(usedIn(ledger));
  return changed;
}

/** The third extension of an entry, inside the earlier ones; without liabilities and sponsors. */
function usedIn(ledger: { sequence: number; closedAt: bigint }): xdr.AccountEntryExt {
  const third = new xdr.AccountEntryExtensionV3({
    ext: new xdr.ExtensionPoint(0),
    seqLedger: ledger.sequence,
    seqTime: xdr.Uint64.fromString(String(ledger.closedAt)),
  });
  const second = new xdr.AccountEntryExtensionV2({
    numSponsored: 0,
    numSponsoring: 0,
    signerSponsoringIDs: [],
    ext: new xdr.AccountEntryExtensionV2Ext(3, third),
  });
  const first = new xdr.AccountEntryExtensionV1({
    liabilities: new xdr.Liabilities({ buying: new xdr.Int64(0), selling: new xdr.Int64(0) }),
    ext: new xdr.AccountEntryExtensionV1Ext(2, second),
  });
  return new xdr.AccountEntryExt(1, first);
}

export function sequenceOf(account: xdr.AccountEntry): bigint {
  return account.seqNum().toBigInt();
}

export function balanceOf(account: xdr.AccountEntry): bigint {
  return account.balance().toBigInt();
}

function copyOf(account: xdr.AccountEntry): xdr.AccountEntry {
  return xdr.AccountEntry.fromXDR(account.toXDR());
}
