/**
 * Sends signed bytes. Custody's transaction that waits longer than its fee explains is sent again in an envelope
 * in which custody pays more. It stays the same transaction, which nodes find by its own hash: as any account
 * can put it into an envelope, the envelope is no attempt, and nothing depends on whether it is known.
 */
import { FeeBumpTransaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { largest, smallest } from '../../../lib/bigints.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { BroadcastAnswer } from '../port.ts';
import { MIN_INCLUSION_FEE_STROOPS, nullIfUnavailable } from './fees.ts';
import { showXlm } from './lumens.ts';
import type { StellarNode } from './node.ts';
import type { SendAnswer } from './nodeAnswers.ts';
import { hashOf, paidByCustody } from './signing.ts';
import type { SigningKeys } from './signing.ts';

interface BroadcastDeps {
  node: StellarNode;
  passphrase: string;
  keys: SigningKeys;
  validitySeconds: number;
  maxInclusionFeeStroops: bigint;
  log?: Pick<Logger, 'warn'> | undefined;
}

/** Sends the bytes. Any answer of the node is returned as a hint, never thrown: only `outcome` decides. */
export async function broadcastBytes(deps: BroadcastDeps, signedBytes: Uint8Array): Promise<BroadcastAnswer> {
  const transaction = openBytes(signedBytes, deps.passphrase);
  if (!transaction) return { status: 'refused', reason: 'The bytes are no transaction of this network' };
  const sent = await deps.node.send(transaction);
  const dearer = await inDearerEnvelope(deps, transaction, sent);
  // Without an answer about the envelope, the one about the transaction still holds.
  const sentDearer = dearer && (await deps.node.send(dearer).catch(nullIfUnavailable));
  if (!dearer || !sentDearer) return answerTo(deps, transaction, sent);
  const answer = await answerTo(deps, dearer, sentDearer);
  if (sentDearer.status !== 'DUPLICATE') {
    const txHash = hashOf(dearer.innerTransaction).toString('hex');
    deps.log?.warn({ txHash, bidStroops: String(bidOf(dearer)), answer }, 'stuck: custody bids more for it');
  }
  return answer.status === 'accepted' ? answer : answerTo(deps, transaction, sent);
}

async function answerTo(
  deps: Pick<BroadcastDeps, 'node'>,
  transaction: Transaction | FeeBumpTransaction,
  { status, errorCode }: SendAnswer,
): Promise<BroadcastAnswer> {
  switch (status) {
    case 'PENDING':
    case 'DUPLICATE':
      return { status: 'accepted' };
    case 'TRY_AGAIN_LATER':
      return {
        status: 'refused',
        reason:
          'The node asks to try again later: its queue is full, or it dropped or applied the transaction lately',
      };
    case 'ERROR':
      return answerToError(deps, transaction, errorCode ?? 'an error without a code');
    default:
      return status satisfies never;
  }
}

/** A landed transaction that is sent again is refused for its sequence, which is no refusal of the call. */
async function answerToError(
  { node }: Pick<BroadcastDeps, 'node'>,
  transaction: Transaction | FeeBumpTransaction,
  errorCode: string,
): Promise<BroadcastAnswer> {
  const { status } = await node.transaction(innerOf(transaction).hash().toString('hex'));
  if (status !== 'NOT_FOUND') return { status: 'accepted' };
  const shortage = errorCode === 'txInsufficientBalance' ? `: ${describeShortage(transaction)}` : '';
  return { status: 'refused', reason: `The node refused the transaction: ${errorCode}${shortage}` };
}

/**
 * For funds, a node also counts the possible cost of the payer's waiting transactions:
 * `TransactionQueue::canAdd` of stellar-core.
 */
function describeShortage(transaction: Transaction | FeeBumpTransaction): string {
  const payer = transaction instanceof FeeBumpTransaction ? transaction.feeSource : transaction.source;
  const fee = showXlm(BigInt(transaction.fee));
  return `${payer} has less than ${fee} XLM to spend, beside what its other waiting transactions may cost`;
}

function openBytes(signedBytes: Uint8Array, passphrase: string): Transaction | FeeBumpTransaction | null {
  try {
    const envelope = xdr.TransactionEnvelope.fromXDR(Buffer.from(signedBytes));
    return TransactionBuilder.fromXDR(envelope, passphrase);
  } catch {
    return null;
  }
}

/**
 * Two ledgers. Transactions usually land in the next one; after two, it was underpriced or lost. Nodes drop a
 * transaction after four, and refuse its hash for ten more. A fee bump takes over the age of what it replaces
 * (`TransactionQueue::tryAdd` of stellar-core), so a later one would wait for one ledger, and then be refused.
 */
const PATIENCE_SECONDS = 10n;
/** A validator replaces a waiting envelope by another one if the fee is ten times as high. */
const REPLACEMENT_FACTOR = 10n;
/** A dearer envelope can mend these alone, because it bids more, and custody pays. */
const MENDED_ERRORS: readonly (string | null)[] = ['txInsufficientFee', 'txInsufficientBalance'];

/**
 * The same transaction in an envelope that bids more, or null: it is not custody's, can't land, is not stuck, or
 * bids as much as others, or the cap is reached. What others bid does not matter for a transaction that the node
 * dropped: the node refuses its hash for ten ledgers, which is most of its validity, but not an envelope's hash.
 *
 * All bids are the first one times a power of ten, so that any of them replaces a lower one without a record of
 * it. The cap alone may be between two of them: then the node refuses it while the lower one waits, which may
 * land.
 */
async function inDearerEnvelope(
  deps: BroadcastDeps,
  transaction: Transaction | FeeBumpTransaction,
  { status, errorCode, closedAt }: SendAnswer,
): Promise<FeeBumpTransaction | null> {
  const { node, keys, maxInclusionFeeStroops: cap } = deps;
  const inner = innerOf(transaction);
  if (!keys.sources.has(inner.source) || closedAt === null) return null;
  if (status === 'ERROR' && !MENDED_ERRORS.includes(errorCode)) return null;
  const validUntil = BigInt(inner.timeBounds?.maxTime ?? 0);
  if (closedAt < validUntil - BigInt(deps.validitySeconds) + PATIENCE_SECONDS) return null;
  const bid = largest(bidOf(transaction), MIN_INCLUSION_FEE_STROOPS);
  let higher = bid * REPLACEMENT_FACTOR;
  if (higher > cap) return null;
  // The maximum is used, because at the start of a spike the usual recent fee does not show it yet.
  const highestStroops = (await node.inclusionFees().catch(nullIfUnavailable))?.highestStroops ?? 0n;
  if (highestStroops <= bid && status !== 'TRY_AGAIN_LATER') return null;
  while (higher < highestStroops && higher < cap) higher *= REPLACEMENT_FACTOR;
  return paidByCustody(deps, inner, smallest(higher, cap));
}

/** A transaction's bid per operation for inclusion, without its resource fee. */
function bidOf(transaction: Transaction | FeeBumpTransaction): bigint {
  const inner = innerOf(transaction);
  const resources = inner.toEnvelope().v1().tx().ext();
  const resourceFee = resources.switch() === 1 ? resources.sorobanData().resourceFee().toBigInt() : 0n;
  const operations = BigInt(inner.operations.length + (inner === transaction ? 0 : 1));
  return (BigInt(transaction.fee) - resourceFee) / operations;
}

function innerOf(transaction: Transaction | FeeBumpTransaction): Transaction {
  return transaction instanceof FeeBumpTransaction ? transaction.innerTransaction : transaction;
}
