/**
 * Which block is final, by the operator's setting, and reads that belong to that one block.
 *
 * `confirmations: n` takes the block that n others stand on (0: the latest itself); `finalized` takes the
 * network's own word. What was final once stays so: an answer from a node that is behind is refused.
 */
import { NetworkUnavailable } from '../port.ts';
import { ZERO_ADDRESS } from './addresses.ts';
import { shareFreshRuns } from './freshRuns.ts';
import { RpcError, valueOf } from './jsonRpc.ts';
import type { Answer, AnswersTo, JsonRpc, Question } from './jsonRpc.ts';
import { ask, quantityOf } from './questions.ts';
import type { Block, BlockReference } from './questions.ts';

export type FinalitySetting = { confirmations: number } | 'finalized';

export interface Pin {
  latest: Block;
  final: Block;
  /** The state of the final block. */
  state: BlockReference;
}

export interface Finality {
  /** Asks for the latest and the final block. @throws NetworkUnavailable */
  pin(): Promise<Pin>;
  /**
   * Does work on one final block. If that block vanishes meanwhile (a reorganisation deeper than the setting,
   * or a node that has not seen it), once more on the one that is final then.
   * @throws NetworkUnavailable, or what `work` throws
   */
  onFinalBlock<T>(work: (pin: Pin) => Promise<T>): Promise<T>;
  /** Asks in one batch, and makes sure that the answers are about the pinned block. @throws VanishedBlock */
  askTogether<const Questions extends readonly Question<unknown>[]>(
    pin: Pin,
    questions: Questions,
  ): Promise<AnswersTo<Questions>>;
}

/** The block that answers should be about is not (or no longer) in the node's chain. */
export class VanishedBlock extends Error {
  override readonly name = 'VanishedBlock';
}

/** One failure may be a reorganisation; so many say that the node does not know blocks by hash. */
const MAX_HASH_FAILURES = 3;

export function createFinality(rpc: JsonRpc, setting: FinalitySetting): Finality {
  const referenceTo = createReferences(rpc);
  let highest: Block | null = null;

  async function readPin(): Promise<Pin> {
    const [latestAnswer, taggedAnswer] = await rpc.askTogether([
      ask.block('latest'),
      ask.block(setting === 'finalized' ? 'finalized' : 'latest'),
    ]);
    const latest = requireBlock(valueOf(latestAnswer), 'latest');
    const told =
      setting === 'finalized'
        ? requireBlock(valueOf(taggedAnswer), 'finalized')
        : await confirmedBlock(rpc, latest, setting.confirmations);
    const final = highest && told.number < highest.number ? await stillFinal(rpc, latest, highest) : told;
    if (highest === null || final.number >= highest.number) highest = final;
    return { latest, final, state: await referenceTo(final) };
  }

  const pin = shareFreshRuns(readPin);

  return {
    pin,
    async onFinalBlock(work) {
      try {
        return await work(await pin());
      } catch (error) {
        if (!(error instanceof RpcError || error instanceof VanishedBlock)) throw error;
        return work(await pin());
      }
    },
    async askTogether(pinned, questions) {
      const answers = await rpc.askTogether([ask.block(pinned.final.number), ...questions]);
      const [sameBlock, ...rest] = answers as [Answer<Block | null>, ...Answer<unknown>[]];
      if (valueOf(sameBlock)?.hash !== pinned.final.hash) {
        throw new VanishedBlock(`Block ${pinned.final.number} is not ${pinned.final.hash} any more`);
      }
      return rest as AnswersTo<typeof questions>;
    },
  };
}

async function confirmedBlock(rpc: JsonRpc, latest: Block, confirmations: number): Promise<Block> {
  if (confirmations === 0) return latest;
  const depth = BigInt(confirmations);
  const number = latest.number > depth ? latest.number - depth : 0n;
  return requireBlock(await rpc.ask(ask.block(number)), String(number));
}

/** The head may drop by a block or two while the network chooses between branches; what is final does not. */
async function stillFinal(rpc: JsonRpc, latest: Block, highest: Block): Promise<Block> {
  if (latest.number < highest.number) {
    throw new NetworkUnavailable(
      `The node is behind: its latest block is ${latest.number}, but block ${highest.number} was final before`,
    );
  }
  return requireBlock(await rpc.ask(ask.block(highest.number)), String(highest.number));
}

/** By hash, unless the node turns out not to know that way of asking. */
function createReferences(rpc: JsonRpc): (block: Block) => Promise<BlockReference> {
  let knowsHashes = false;
  let failures = 0;
  return async (block) => {
    const byHash = { blockHash: block.hash, requireCanonical: true } as const;
    if (!knowsHashes && failures < MAX_HASH_FAILURES) {
      const [answer] = await rpc.askTogether([ask.transactionCount(ZERO_ADDRESS, byHash)]);
      if ('value' in answer) knowsHashes = true;
      else failures++;
    }
    return knowsHashes ? byHash : quantityOf(block.number);
  };
}

function requireBlock(block: Block | null, which: string): Block {
  if (block) return block;
  throw new NetworkUnavailable(`The node has no ${which} block`);
}
