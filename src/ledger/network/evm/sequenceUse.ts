/**
 * Finds the transaction that used a nonce, in the chain itself.
 *
 * A missing receipt proves nothing: the node may be behind, or have dropped its index. Another transaction in
 * a final block with the same sender and nonce proves that this one never lands.
 */
import type { Address, Hash } from 'viem';
import type { Finality, Pin } from './finality.ts';
import type { Answer, Question } from './jsonRpc.ts';
import { ask, quantityOf } from './node.ts';
import { valueIfKept } from './transientErrors.ts';

interface NonceUse {
  hash: Hash;
  block: bigint;
}

/**
 * A reorganisation can move a transaction to a block before the one that was the latest when it was signed.
 */
const BLOCKS_BEFORE_SIGNING = 64n;
/** Transaction counts in one batch: a search over a million blocks takes five batches. */
const PROBES = 16n;
/** If old states are pruned, blocks are read instead: an hour of blocks, at a minute's worth of traffic. */
const MAX_BLOCKS_READ = 320n;
/** Full blocks take a few megabytes, and the size of an answer is limited. */
const BLOCKS_AT_ONCE = 4n;

/**
 * Each batch asks for the final block too, because a node that is behind also lacks blocks, without having
 * pruned them.
 *
 * @param search the node must have said that the nonce is used up at the final block
 * @returns `unused` if no block uses it although all are there: the node contradicts itself; `unknown` if the
 *   node has pruned the history
 * @throws RpcError if the node is busy, which must not be mistaken for pruned history; BlockReorganised,
 *   NetworkUnavailable
 */
export async function findNonceUse(
  finality: Finality,
  pin: Pin,
  search: { source: Address; nonce: bigint; signedAt: bigint },
): Promise<NonceUse | 'unused' | 'unknown'> {
  const { source, nonce, signedAt } = search;
  const finalBlock = pin.final.number;
  const askAll: AskAll = (questions) => finality.askTogether(pin, questions);
  const isUsedAt = async (blocks: readonly bigint[]) => {
    const answers = await askAll(blocks.map((block) => ask.transactionCount(source, quantityOf(block))));
    return answers.map(valueIfKept).map((count) => (count === null ? null : count > nonce));
  };
  const start = signedAt > BLOCKS_BEFORE_SIGNING ? signedAt - BLOCKS_BEFORE_SIGNING : 0n;
  const from = start < finalBlock ? start : 0n;
  const [isUsedBefore] = await isUsedAt([from]);
  const range = isUsedBefore ? { unused: -1n, used: from } : { unused: from - 1n, used: finalBlock };
  const narrowed = await narrow(range, isUsedAt);
  const { user, isComplete } = await readBlocks(askAll, source, nonce, narrowed);
  if (user) return user;
  const isKnownUnused = isUsedBefore !== null || narrowed.unused > range.unused;
  return isComplete && isKnownUnused ? 'unused' : 'unknown';
}

type AskAll = <T>(questions: readonly Question<T>[]) => Promise<Answer<T>[]>;

/** The nonce is unused at the end of block `unused`, and used at the end of block `used`. */
interface Range {
  unused: bigint;
  used: bigint;
}

async function narrow(
  range: Range,
  isUsedAt: (blocks: readonly bigint[]) => Promise<(boolean | null)[]>,
): Promise<Range> {
  let { unused, used } = range;
  for (;;) {
    const width = used - unused;
    if (width <= 1n) return { unused, used };
    const step = width / PROBES > 0n ? width / PROBES : 1n;
    const probes: bigint[] = [];
    for (let block = unused + step; block < used && probes.length < PROBES; block += step) probes.push(block);
    const answers = await isUsedAt(probes);
    const before = { unused, used };
    probes.forEach((block, at) => {
      if (answers[at] === false && block > unused) unused = block;
      if (answers[at] === true && block < used) used = block;
    });
    if (unused === before.unused && used === before.used) return { unused, used };
  }
}

async function readBlocks(
  askAll: AskAll,
  source: Address,
  nonce: bigint,
  { unused, used }: Range,
): Promise<{ user: NonceUse | null; isComplete: boolean }> {
  let isComplete = used - unused <= MAX_BLOCKS_READ;
  const first = isComplete ? unused + 1n : used - MAX_BLOCKS_READ + 1n;
  for (let from = first; from <= used; from += BLOCKS_AT_ONCE) {
    const last = from + BLOCKS_AT_ONCE - 1n < used ? from + BLOCKS_AT_ONCE - 1n : used;
    const numbers = Array.from({ length: Number(last - from + 1n) }, (_, at) => from + BigInt(at));
    const answers = await askAll(numbers.map((number) => ask.transactionsOf(number)));
    for (const block of answers.map(valueIfKept)) {
      if (block === null) {
        isComplete = false;
        continue;
      }
      const { number, transactions } = block;
      const user = transactions.find(
        (transaction) =>
          transaction.nonce === nonce && transaction.from.toLowerCase() === source.toLowerCase(),
      );
      if (user) return { user: { hash: user.hash, block: number }, isComplete };
    }
  }
  return { user: null, isComplete };
}
