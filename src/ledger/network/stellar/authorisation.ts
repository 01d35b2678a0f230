/**
 * Checks the authorisation that the node proposes before custody (or a holder) signs it.
 *
 * The caller is the source of the operation and authorises by signing the envelope, which binds the
 * authorisation to this one transaction. A signed authorisation entry is not bound: it is valid in any
 * transaction until it expires. Any account that saw the entry could burn the credits under an unknown hash,
 * and the platform's own transaction would look dead. So no entry is ever signed, whatever the node asks for.
 */
import { Address as SdkAddress, xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable, refused } from '../port.ts';
import type { Address } from '../port.ts';
import { isAccount } from './addresses.ts';
import { hostFunctionOf } from './calls.ts';
import type { Invocation, NestedTransfer } from './calls.ts';
import { asAddress, asBigint, plain } from './scvals.ts';

/**
 * The authorisation as the signature of `caller` on the envelope gives it. (A contract authorises by making
 * the call itself, so nothing is signed for it.)
 * @throws NetworkRefusal UNAUTHORIZED if another account would have to authorise the call
 * @throws NetworkUnavailable if the node asks to authorise more than the call
 */
export function boundToEnvelope(
  entries: readonly xdr.SorobanAuthorizationEntry[],
  invocation: Invocation,
  caller: Address,
): xdr.SorobanAuthorizationEntry[] {
  return entries.map((entry) => {
    const address = addressOf(entry);
    if (address !== null && address !== caller) {
      throw refused(
        'UNAUTHORIZED',
        `Only ${address} may call ${invocation.functionName} on ${invocation.contract}; the caller is ${caller}`,
      );
    }
    const rootInvocation = entry.rootInvocation();
    requireSameCall(rootInvocation, invocation);
    if (!isAccount(caller)) return entry;
    const credentials = xdr.SorobanCredentials.sorobanCredentialsSourceAccount();
    return new xdr.SorobanAuthorizationEntry({ credentials, rootInvocation });
  });
}

/** Null if the authorisation is by the source account's signature on the envelope. */
function addressOf(entry: xdr.SorobanAuthorizationEntry): Address | null {
  const credentials = entry.credentials();
  if (credentials.switch().name === 'sorobanCredentialsSourceAccount') return null;
  return SdkAddress.fromScAddress(credentials.address().address()).toString();
}

/**
 * Allows the call itself with its one transfer below it, or (if the contract leaves the authorisation to the
 * token) the transfer alone.
 */
function requireSameCall(root: xdr.SorobanAuthorizedInvocation, invocation: Invocation): void {
  if (isTransfer(root, invocation.nestedTransfer)) return;
  const call = calledBy(root);
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
