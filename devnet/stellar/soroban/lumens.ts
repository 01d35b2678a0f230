/**
 * Lumens and who holds them: fees, payments, and accounts that are made with some.
 */
import { xdr } from '@stellar/stellar-sdk';
import { balanceOf, newAccount, withBalance } from './accounts.ts';
import { plainAccount } from './envelopes.ts';
import { accountKey, idOf } from './ledgerKeys.ts';
import type { EntryReader, Overlay } from './ledgerState.ts';
import { accountCreated, paid } from './results.ts';
import type { OperationOutcome } from './results.ts';

/** Stroops that every account keeps: two base reserves. */
export const MINIMUM_BALANCE = 10_000_000n;

/** Puts stroops onto an account, or takes them off; an account that is gone is left gone. */
export function credit(state: Overlay, address: string, amount: bigint, ledger: number): void {
  const id = idOf(accountKey(address));
  const entry = state.get(id);
  if (!entry || amount === 0n) return;
  const account = entry.data.account();
  const data = xdr.LedgerEntryData.account(withBalance(account, balanceOf(account) + amount));
  state.put(id, { ...entry, data, lastModified: ledger });
}

export function createAccount(
  operation: xdr.CreateAccountOp,
  source: string,
  ledger: number,
  work: Overlay,
): OperationOutcome {
  const address = plainAddress(operation.destination());
  const amount = operation.startingBalance().toBigInt();
  const id = idOf(accountKey(address));
  if (work.get(id)) return accountCreated('createAccountAlreadyExist');
  if (amount < MINIMUM_BALANCE) return accountCreated('createAccountLowReserve');
  if (!canPay(work, source, amount)) return accountCreated('createAccountUnderfunded');
  credit(work, source, -amount, ledger);
  // An account's numbers start where no earlier one of the same address can have used them.
  const account = newAccount(address, amount, BigInt(ledger) << 32n);
  work.put(id, {
    key: accountKey(address),
    data: xdr.LedgerEntryData.account(account),
    lastModified: ledger,
    liveUntil: null,
  });
  return accountCreated('createAccountSuccess');
}

export function pay(
  operation: xdr.PaymentOp,
  source: string,
  ledger: number,
  work: Overlay,
): OperationOutcome {
  const amount = operation.amount().toBigInt();
  if (operation.asset().switch().name !== 'assetTypeNative' || amount <= 0n) return paid('paymentMalformed');
  const to = plainAccount(operation.destination());
  if (!work.get(idOf(accountKey(to)))) return paid('paymentNoDestination');
  if (!canPay(work, source, amount)) return paid('paymentUnderfunded');
  credit(work, source, -amount, ledger);
  credit(work, to, amount, ledger);
  return paid('paymentSuccess');
}

function canPay(state: EntryReader, address: string, amount: bigint): boolean {
  const account = state.get(idOf(accountKey(address)))?.data.account();
  return account !== undefined && balanceOf(account) - MINIMUM_BALANCE >= amount;
}

function plainAddress(accountId: xdr.AccountId): string {
  return plainAccount(xdr.MuxedAccount.keyTypeEd25519(accountId.ed25519()));
}
