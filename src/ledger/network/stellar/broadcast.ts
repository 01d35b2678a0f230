/**
 * Sends signed bytes, and sends them again at a higher fee.
 */
import { FeeBumpTransaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import type { BroadcastAnswer, PreparedTransaction } from '../port.ts';
import { nullIfUnavailable } from './fees.ts';
import { showXlm } from './lumens.ts';
import type { StellarNode } from './node.ts';
import { paidByCustody, preparedFrom } from './signing.ts';
import type { SigningKeys } from './signing.ts';

interface BroadcastDeps {
  node: StellarNode;
  passphrase: string;
}

/** Sends the bytes. Any answer of the node is returned as a hint, never thrown: only `outcome` decides. */
export async function broadcastBytes(deps: BroadcastDeps, signedBytes: Uint8Array): Promise<BroadcastAnswer> {
  const transaction = openBytes(signedBytes, deps.passphrase);
  if (!transaction) return { status: 'refused', reason: 'The bytes are no transaction of this network' };
  const { status, errorCode } = await deps.node.send(transaction);
  switch (status) {
    case 'PENDING':
    case 'DUPLICATE':
      return { status: 'accepted' };
    case 'TRY_AGAIN_LATER':
      return { status: 'refused', reason: 'The node takes no further transactions at the moment' };
    case 'ERROR':
      return answerToError(deps, transaction, errorCode ?? 'an error without a code');
    default:
      return status satisfies never;
  }
}

/** A landed transaction that is sent again is refused for its sequence, which is no refusal of the call. */
async function answerToError(
  { node }: BroadcastDeps,
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

interface ReplacementDeps extends BroadcastDeps {
  /** Custody pays the higher fee. */
  keys: Pick<SigningKeys, 'custody'>;
  maxInclusionFeeStroops: bigint;
}

/** Transactions usually land in the next ledger; after so many, the transaction was underpriced or lost. */
const PATIENCE_LEDGERS = 3n;
/** A validator replaces a transaction if the fee is ten times as high. */
const REPLACEMENT_FACTOR = 10n;
/** With less time left, the higher fee would usually come too late. */
const LEAST_TIME_LEFT_SECONDS = 10n;

/** The same signed transaction in an envelope with a higher fee; or null. */
export async function signReplacement(
  deps: ReplacementDeps,
  latest: PreparedTransaction,
): Promise<PreparedTransaction | null> {
  const { source, sequence, validUntil, preparedAtLedger } = latest;
  const transaction = openBytes(latest.signedBytes, deps.passphrase);
  if (!transaction || sequence === null || validUntil === null) return null;
  const bid = bidOf(transaction);
  const higher = bid * REPLACEMENT_FACTOR;
  if (higher > deps.maxInclusionFeeStroops) return null;
  const state = await deps.node.presentState();
  if (state.latestLedger < preparedAtLedger + PATIENCE_LEDGERS) return null;
  if (state.closedAt + LEAST_TIME_LEFT_SECONDS > validUntil) return null;
  // The maximum is used, because at the start of a spike the usual recent fee does not show it yet.
  const highestStroops = (await deps.node.inclusionFees().catch(nullIfUnavailable))?.highestStroops ?? 0n;
  if (highestStroops <= bid) return null;

  const wanted = highestStroops > higher ? highestStroops : higher;
  const fee = wanted < deps.maxInclusionFeeStroops ? wanted : deps.maxInclusionFeeStroops;
  return preparedFrom(paidByCustody(deps, innerOf(transaction), fee), {
    slot: { source, sequence },
    validUntil,
    preparedAtLedger,
  });
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
