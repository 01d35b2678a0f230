/**
 * Holders with a wallet: the payload that they sign on this network, and the signed form that a wallet
 * returns.
 *
 *   payload, given to the wallet   the canonical JSON of the transaction; its UTF-8 bytes are signed
 *   signed, as returned            base64 of the 64 bytes of the ed25519 signature, followed by the payload's
 */
import { isDeepStrictEqual } from 'node:util';
import { notAsPrepared, refused } from '../port.ts';
import type { Address, PreparedTransaction, UnsignedTransaction } from '../port.ts';
import { checkInvocation } from './calls.ts';
import type { Invocation } from './calls.ts';
import { embedded } from './family.ts';
import { freshTransaction } from './draft.ts';
import type { SignerDeps } from './draft.ts';
import { decodeStrkey, keypairOf } from '../../../lib/strkey.ts';
import { encodeTransaction, openTransaction } from './signing.ts';

/** Time for a person to read the payload and sign it. */
const HOLDER_VALIDITY_SECONDS = 300n;

/** @throws NetworkRefusal if the contracts would refuse the call, or the address has no key */
export async function prepareForHolder(
  deps: SignerDeps,
  call: Invocation,
  holder: Address,
): Promise<UnsignedTransaction> {
  if (decodeStrkey(holder)?.kind !== 'account') {
    throw refused('UNAUTHORIZED', `${holder} is no account: it has no key that signs`);
  }
  const { invocation, latest } = await deps.simulate(holder, call);
  const validUntil = latest.closedAt + HOLDER_VALIDITY_SECONDS;
  const transaction = freshTransaction(deps, holder, invocation, validUntil);
  return {
    format: embedded.walletFormat.name,
    payload: Buffer.from(encodeTransaction(transaction)).toString('utf8'),
    holder,
    validUntil,
    preparedAtLedger: latest.ledger,
  };
}

/** Signs as a wallet of this network does. @throws Error if the key is no seed */
export function signPayload(secretKey: string, payload: string): string {
  const bytes = Buffer.from(payload, 'utf8');
  return Buffer.concat([keypairOf(secretKey).sign(bytes), bytes]).toString('base64');
}

/** @throws NetworkRefusal NOT_AS_PREPARED */
export async function openSigned(
  deps: SignerDeps,
  call: Invocation,
  unsigned: UnsignedTransaction,
  signed: string,
): Promise<PreparedTransaction> {
  const bytes = Buffer.from(signed, 'base64');
  if (bytes.toString('base64') !== signed)
    throw notAsPrepared('it is not base64 of a signature and a payload');
  const opened = openTransaction(bytes, deps.networkId);
  if (typeof opened === 'string') throw notAsPrepared(opened);
  const { transaction, hash, signedBytes } = opened;
  const payload = Buffer.from(signedBytes.subarray(signedBytes.length - Buffer.byteLength(unsigned.payload)));
  const isSame =
    transaction.source === unsigned.holder &&
    payload.equals(Buffer.from(unsigned.payload, 'utf8')) &&
    isDeepStrictEqual(transaction.invocation, checkInvocation(call));
  if (!isSame) throw notAsPrepared('it is another transaction');
  return {
    hash,
    signedBytes,
    source: transaction.source,
    sequence: null,
    validUntil: transaction.validUntil,
    preparedAtLedger: unsigned.preparedAtLedger,
  };
}
