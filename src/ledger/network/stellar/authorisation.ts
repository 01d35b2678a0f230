/**
 * Checks the authorisation that the node proposes before custody (or a holder) signs it.
 *
 * Through a channel, custody is the source of the operation and authorises by signing the envelope, which
 * binds the authorisation to this one transaction. A signed authorisation entry is not bound: it is valid in
 * any transaction until it expires. Any account that saw the entry could burn the credits under an unknown
 * hash, and the platform's own transaction would look dead. Nodes normally know the operation's source. If a
 * node does not, and asks for an entry, the entry is signed, and the transaction does not count as dead
 * before the entry has expired (addressCredentials.ts). If the caller is the source of the transaction, the
 * envelope suffices, whatever the node asks for.
 */
import { authorizeEntry, Address as SdkAddress, xdr } from '@stellar/stellar-sdk';
import type { Keypair } from '@stellar/stellar-sdk';
import { NetworkRefusal, NetworkUnavailable } from '../port.ts';
import type { Address } from '../port.ts';
import { isAccount } from './addresses.ts';
import { hostFunctionOf } from './calls.ts';
import type { Invocation, NestedTransfer } from './calls.ts';
import { asAddress, asBigint, plain } from './scvals.ts';

/** How the caller's authorisation is given. */
export type AuthorisationForm = 'envelope' | 'entries';

/**
 * @throws NetworkRefusal UNAUTHORIZED if another account would have to authorise the call
 * @throws NetworkUnavailable if the node asks to authorise more than the call
 */
export function checkAuthorisation(
  entries: readonly xdr.SorobanAuthorizationEntry[],
  invocation: Invocation,
  caller: Address,
): AuthorisationForm {
  let form: AuthorisationForm = 'envelope';
  for (const entry of entries) {
    const address = addressOf(entry);
    if (address !== null && address !== caller) {
      throw new NetworkRefusal({
        reason: 'UNAUTHORIZED',
        message: `Only ${address} may call ${invocation.functionName} on ${invocation.contract}; the caller is ${caller}`,
      });
    }
    // A contract authorises by making the call itself, so nothing is signed for it.
    requireSameCall(entry.rootInvocation(), invocation, address !== null && isAccount(caller));
    if (address !== null) form = 'entries';
  }
  return form;
}

/**
 * Replaces authorisations of the transaction's own source, because its signature on the envelope covers them.
 */
export function boundToSource(
  entries: readonly xdr.SorobanAuthorizationEntry[],
  source: Address,
): xdr.SorobanAuthorizationEntry[] {
  return entries.map((entry) =>
    addressOf(entry) === source
      ? new xdr.SorobanAuthorizationEntry({
          credentials: xdr.SorobanCredentials.sorobanCredentialsSourceAccount(),
          rootInvocation: entry.rootInvocation(),
        })
      : entry,
  );
}

/** Authorisations that are valid outside the transaction that contains them. */
export function addressCredentialsOf(
  entries: readonly xdr.SorobanAuthorizationEntry[],
): xdr.SorobanAddressCredentials[] {
  return entries.flatMap((entry) => (addressOf(entry) === null ? [] : [entry.credentials().address()]));
}

export async function signEntries(
  entries: readonly xdr.SorobanAuthorizationEntry[],
  keypair: Keypair,
  until: { ledger: bigint; passphrase: string },
): Promise<xdr.SorobanAuthorizationEntry[]> {
  return Promise.all(
    entries.map((entry) => authorizeEntry(entry, keypair, Number(until.ledger), until.passphrase)),
  );
}

/** Null if the authorisation is by the source account's signature on the envelope. */
function addressOf(entry: xdr.SorobanAuthorizationEntry): Address | null {
  const credentials = entry.credentials();
  if (credentials.switch().name === 'sorobanCredentialsSourceAccount') return null;
  return SdkAddress.fromScAddress(credentials.address().address()).toString();
}

/**
 * Allows the call itself with its one transfer below it, or (if the contract leaves the authorisation to the
 * token) the transfer alone. The transfer alone is allowed only within the envelope, because an entry would
 * allow the transfer without the call.
 */
function requireSameCall(
  root: xdr.SorobanAuthorizedInvocation,
  invocation: Invocation,
  hasAddressCredentials: boolean,
): void {
  const call = calledBy(root);
  if (call && !hasAddressCredentials && isTransfer(root, invocation.nestedTransfer)) return;
  const wanted = hostFunctionOf(invocation).invokeContract().toXDR('base64');
  if (call?.toXDR('base64') !== wanted) throw unwanted(invocation, call);
  for (const nested of root.subInvocations()) {
    if (!isTransfer(nested, invocation.nestedTransfer)) throw unwanted(invocation, calledBy(nested));
  }
}

function calledBy(invocation: xdr.SorobanAuthorizedInvocation): xdr.InvokeContractArgs | null {
  const authorised = invocation.function();
  return authorised.switch().name === 'sorobanAuthorizedFunctionTypeContractFn'
    ? authorised.contractFn()
    : null;
}

function isTransfer(invocation: xdr.SorobanAuthorizedInvocation, allowed: NestedTransfer | null): boolean {
  const call = calledBy(invocation);
  if (allowed === null || call === null || invocation.subInvocations().length > 0) return false;
  if (String(call.functionName()) !== 'transfer') return false;
  if (SdkAddress.fromScAddress(call.contractAddress()).toString() !== allowed.token) return false;
  const [from, to, amount] = call.args().map(plain);
  if (asAddress(from, 'from') !== allowed.from) return false;
  if (allowed.to !== null && asAddress(to, 'to') !== allowed.to) return false;
  const asked = asBigint(amount, 'amount');
  return 'exactly' in allowed.amount ? asked === allowed.amount.exactly : asked <= allowed.amount.atMost;
}

function unwanted(invocation: Invocation, call: xdr.InvokeContractArgs | null): NetworkUnavailable {
  const found = call
    ? `${String(call.functionName())} on ${SdkAddress.fromScAddress(call.contractAddress()).toString()}`
    : 'the making of a contract';
  return new NetworkUnavailable(
    `The Stellar node asks for ${found} to be authorised along with ${invocation.functionName} on ` +
      `${invocation.contract}, which is not part of that call: nothing was signed`,
  );
}
