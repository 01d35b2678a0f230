/**
 * Builds and signs transactions. Pure: the same slot and draft always give the same bytes.
 */
import { createHash, sign, type KeyObject } from 'node:crypto';
import { Account, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { FeeBumpTransaction, Keypair, Transaction } from '@stellar/stellar-sdk';
import { privateKeyOf } from '../../../lib/ed25519.ts';
import { NetworkUnavailable } from '../port.ts';
import type { PreparedTransaction, SequenceSlot, UnixSeconds } from '../port.ts';
import type { Resources } from './nodeAnswers.ts';
import { getOrMake } from '../../../lib/getOrMake.ts';

/** The signing keys: custody, and channels that replace it as source of transactions. */
export interface SigningKeys {
  custody: Keypair;
  /** By address. Without channels, custody is the only source. */
  sources: ReadonlyMap<string, Keypair>;
}

interface TransactionPlan {
  operation: xdr.Operation;
  resources: Resources;
  inclusionFeeStroops: bigint;
  validUntil: UnixSeconds;
  passphrase: string;
}

/** Fees are unsigned 32-bit numbers. */
const MAX_FEE_STROOPS = 2n ** 32n - 1n;
/**
 * 20 XLM: far above the cost of any call that restores nothing, so a higher fee is the node's error or
 * attack.
 */
const MAX_RESOURCE_FEE_STROOPS = 200_000_000n;
/**
 * 200 XLM. Measured: 29 XLM for a release that restores the code of two contracts, 19 kB, at the rents and
 * the minimum life of the public network; the network accepts code of several times that size. The network
 * refunds the part above the cost.
 */
const MAX_RESTORING_FEE_STROOPS = 2_000_000_000n;

/** @throws NetworkUnavailable if the node's fee is above the limit */
export function requireUsualFee({
  resources: { feeStroops, restores },
  inclusionFeeStroops,
}: Pick<TransactionPlan, 'resources' | 'inclusionFeeStroops'>): void {
  const most = restores ? MAX_RESTORING_FEE_STROOPS : MAX_RESOURCE_FEE_STROOPS;
  if (feeStroops > most || feeStroops + inclusionFeeStroops > MAX_FEE_STROOPS) {
    throw new NetworkUnavailable(
      `The call would cost ${feeStroops} stroops of resources and ${inclusionFeeStroops} to be included, ` +
        'which is beyond any of its kind: nothing was signed' +
        (restores ? '. Restore the archived entries that it needs by hand (RestoreFootprint)' : ''),
    );
  }
}

/** @throws NetworkUnavailable as requireUsualFee */
export function buildTransaction(plan: TransactionPlan, slot: SequenceSlot): Transaction {
  requireUsualFee(plan);
  const { resources, inclusionFeeStroops } = plan;
  // The builder adds one to the account's sequence, and the resource fee to the bid.
  return new TransactionBuilder(new Account(slot.source, String(slot.sequence - 1n)), {
    fee: String(inclusionFeeStroops),
    networkPassphrase: plan.passphrase,
    timebounds: { minTime: 0, maxTime: String(plan.validUntil) },
    sorobanData: resources.data,
  })
    .addOperation(plan.operation)
    .build();
}

const nativeKeys = new WeakMap<Keypair, KeyObject>();

/**
 * Uses Node's Ed25519 and SHA-256, because the SDK's, in JavaScript, take many times as long. The bytes are
 * the same.
 */
export function signTransaction(
  transaction: Transaction | FeeBumpTransaction,
  keys: readonly Keypair[],
): void {
  const hash = hashOf(transaction);
  for (const key of keys) {
    const signature = sign(null, hash, nativeKey(key));
    transaction.addDecoratedSignature(new xdr.DecoratedSignature({ hint: key.signatureHint(), signature }));
  }
}

/**
 * The same signed transaction, paid by custody instead of its source. The bid is per operation, and the
 * envelope counts as one operation.
 */
export function paidByCustody(
  { keys: { custody }, passphrase }: { keys: Pick<SigningKeys, 'custody'>; passphrase: string },
  transaction: Transaction,
  bidStroops: bigint,
): FeeBumpTransaction {
  const bump = TransactionBuilder.buildFeeBumpTransaction(
    custody,
    String(bidStroops),
    transaction,
    passphrase,
  );
  signTransaction(bump, [custody]);
  return bump;
}

export function hashOf(transaction: Transaction | FeeBumpTransaction): Buffer {
  return createHash('sha256').update(transaction.signatureBase()).digest();
}

function nativeKey(key: Keypair): KeyObject {
  return getOrMake(nativeKeys, key, () => privateKeyOf(key.rawSecretKey()));
}

export function preparedFrom(
  transaction: Transaction,
  facts: { slot: SequenceSlot; validUntil: UnixSeconds; preparedAtLedger: bigint },
): PreparedTransaction {
  const { slot, validUntil, preparedAtLedger } = facts;
  return {
    hash: hashOf(transaction).toString('hex'),
    signedBytes: transaction.toEnvelope().toXDR(),
    source: slot.source,
    sequence: slot.sequence,
    validUntil,
    preparedAtLedger,
  };
}
