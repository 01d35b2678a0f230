/**
 * Account entries: made, and changed without touching the entry that the ledger still holds.
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
    ext: new xdr.AccountEntryExt(0),
  });
}

export function withBalance(account: xdr.AccountEntry, balance: bigint): xdr.AccountEntry {
  const changed = copyOf(account);
  changed.balance(new xdr.Int64(balance));
  return changed;
}

export function withSequence(account: xdr.AccountEntry, sequence: bigint): xdr.AccountEntry {
  const changed = copyOf(account);
  changed.seqNum(new xdr.Int64(sequence));
  return changed;
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
