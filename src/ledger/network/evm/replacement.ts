/**
 * Signs the same call in the same slot at higher fees, if its fees are too low for a block.
 *
 * Only fees count, not the place in the queue: a transaction behind an underpriced one is replaced only if it
 * is underpriced itself, and a transaction behind a gap needs the gap filled.
 */
import { bytesToHex, parseTransaction } from 'viem';
import type { Hash } from 'viem';
import type { PreparedTransaction } from '../port.ts';
import { broadcastBytes } from './broadcast.ts';
import type { DraftDeps } from './draft.ts';
import { feeMarketOf, isUnderpriced, replacementFees } from './fees.ts';
import type { Fees } from './fees.ts';
import { valueOf, valueOfOptional } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { ask } from './node.ts';
import type { Unsigned } from './signing.ts';

/** Blocks to wait: one or two can be chance; after three, producers ignore the transaction. */
const PATIENCE_BLOCKS = 3n;
const REFUSED_FOR_ITS_FEE = /underpriced|fee too low|gas price too low|less than block base fee|base fee/i;

export async function signReplacement(
  deps: Pick<DraftDeps, 'rpc' | 'signer' | 'maxFeePerGasCap'>,
  latest: PreparedTransaction,
): Promise<PreparedTransaction | null> {
  const { rpc, signer, maxFeePerGasCap } = deps;
  const { sequence } = latest;
  // Only its holder can replace a holder's transaction.
  if (latest.source !== signer.address || sequence === null) return null;
  const unsigned = readSigned(latest.signedBytes);
  if (unsigned === null || unsigned.nonce !== sequence) return null;

  const [headAnswer, tipAnswer, knownAnswer, countAnswer, balanceAnswer] = await rpc.askTogether([
    ask.block('latest'),
    ask.priorityFee(),
    ask.transaction(latest.hash as Hash),
    ask.transactionCount(signer.address, 'latest'),
    ask.balance(signer.address, 'latest'),
  ]);
  const head = valueOf(headAnswer);
  if (head === null || head.number < latest.preparedAtLedger + PATIENCE_BLOCKS) return null;
  // It has landed, or another one has in its place.
  if (valueOf(countAnswer) > sequence) return null;
  const market = feeMarketOf(head, valueOfOptional(tipAnswer));
  const isStuck =
    isUnderpriced(unsigned, market) ||
    (valueOf(knownAnswer) === null && (await isRefusedForItsFee(rpc, latest.signedBytes)));
  if (!isStuck) return null;

  const fees = replacementFees(unsigned, market, maxFeePerGasCap);
  if (fees === null) return null;
  // No node would accept it, while the cheaper one may still land.
  if (unsigned.gas * fees.maxFeePerGas + unsigned.value > valueOf(balanceAnswer)) return null;
  const signed = await signer.sign({ ...unsigned, ...fees });
  return {
    ...signed,
    source: latest.source,
    sequence,
    validUntil: latest.validUntil,
    preparedAtLedger: head.number,
  };
}

/**
 * The node dropped the transaction, or never had it: sending the same bytes shows whether the fee is the
 * reason.
 */
async function isRefusedForItsFee(rpc: JsonRpc, signedBytes: Uint8Array): Promise<boolean> {
  const answer = await broadcastBytes(rpc, signedBytes);
  return answer.status === 'refused' && REFUSED_FOR_ITS_FEE.test(answer.reason);
}

function readSigned(signedBytes: Uint8Array): Unsigned | null {
  const parsed = parseTransaction(bytesToHex(signedBytes));
  const { to, nonce, gas, data = '0x', value = 0n } = parsed;
  const fees: Partial<Fees> = parsed;
  const { maxFeePerGas, maxPriorityFeePerGas = 0n } = fees;
  if (!to || gas === undefined || maxFeePerGas === undefined) return null;
  return { nonce: BigInt(nonce ?? 0), to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas };
}
