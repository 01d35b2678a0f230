/**
 * What custody (or a holder) is asked to authorise: looked at before it is signed, because a node says it.
 *
 * Through a channel, custody is the source of the operation, and authorises by signing the envelope. That binds it
 * to this one transaction. A signed authorisation entry would not be bound: it is good in anybody's transaction
 * until it expires, so whoever saw it could burn the credits under a hash that we don't know, and our own
 * transaction would look dead. Real nodes know the operation's source. One that does not asks for an entry; it gets
 * one, and the transaction is then not called dead before that can't be used any more (detachedEntries.ts). Where the
 * caller is the source of the transaction, the envelope is enough, whatever the node asks for.
 */
import { authorizeEntry, Address as SdkAddress, xdr } from '@stellar/stellar-sdk';
import type { Keypair } from '@stellar/stellar-sdk';
import { NetworkRefusal, NetworkUnavailable } from '../port.ts';
import type { Address } from '../port.ts';
import { isAccount } from './addresses.ts';
import { hostFunctionOf } from './invocations.ts';
import type { Invocation, NestedTransfer } from './invocations.ts';
import { asAddress, asBigint, plain } from './scvals.ts';

/** How the caller's authorisation travels. */
export type AuthorisationForm = 'envelope' | 'entries';

/**
 * @throws NetworkRefusal UNAUTHORIZED when somebody else would have to authorise it
 * @throws NetworkUnavailable when the node wants more authorised than the call
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
    // For a contract nothing is signed: it authorises by making the call.
    requireSameCall(entry.rootInvocation(), invocation, address !== null && isAccount(caller));
    if (address !== null) form = 'entries';
  }
  return form;
}

/** What is asked of the transaction's own source is given with its signature on the envelope. */
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

/** Authorisations that can be used outside of the transaction that holds them. */
export function detachedCredentials(
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

/** Null when the source account's signature on the envelope is meant. */
function addressOf(entry: xdr.SorobanAuthorizationEntry): Address | null {
  const credentials = entry.credentials();
  if (credentials.switch().name === 'sorobanCredentialsSourceAccount') return null;
  return SdkAddress.fromScAddress(credentials.address().address()).toString();
}

/**
 * The call itself with its one transfer below it, or (where the contract leaves it to the token) the transfer alone;
 * that only within the envelope, as an entry for it would let anybody make the transfer without the call.
 */
function requireSameCall(
  root: xdr.SorobanAuthorizedInvocation,
  invocation: Invocation,
  isDetached: boolean,
): void {
  const call = calledBy(root);
  if (call && !isDetached && isTransfer(root, invocation.nestedTransfer)) return;
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
