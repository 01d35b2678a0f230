/**
 * Determines the final block by the operator's setting, and ties reads to that one block.
 *
 * `confirmations: n` takes the block that has n blocks after it (0: the latest itself); `finalized` takes the
 * network's own answer. A final block stays final: an answer from a node that is behind is refused. When
 * another block replaces the final one, and the reorganisation is confirmed (reorgDetector.ts), reads
 * continue on the node's present chain, and signing stops.
 */
import { freshSingleFlight } from '../../../lib/singleFlight.ts';
import { createReportedLedgers } from '../reportedLedgers.ts';
import { retryWhile } from '../retryWhile.ts';
import { ChainReorganised, NetworkBehind, NetworkUnavailable, ReorgUnconfirmed } from '../port.ts';
import type { Continuity, FinalLedger } from '../port.ts';
import { seenLedgersInMemory } from '../seenLedgers.ts';
import type { SeenLedgers } from '../seenLedgers.ts';
import { ZERO_ADDRESS } from './addresses.ts';
import { RpcError, valueOf } from './jsonRpc.ts';
import type { Answer, AnswersTo, JsonRpc, Question } from './jsonRpc.ts';
import { ask, quantityOf } from './node.ts';
import type { Block, BlockReference } from './node.ts';
import { createReorgDetector, type ReorgDetector } from './reorgDetector.ts';
import { mayBeTransient } from './transientErrors.ts';

export type FinalitySetting = { confirmations: number } | 'finalized';

export interface Pin {
  latest: Block;
  final: Block;
  /** The state of the final block. */
  state: BlockReference;
  /** How the chain contradicts the history that was final, until it is accepted; null if it does not. */
  rewritten: string | null;
}

export interface Finality {
  /** Asks for the latest and the final block. @throws NetworkUnavailable */
  pin(): Promise<Pin>;
  /** Checks that the chain still has the highest final block. @throws NetworkBehind, NetworkUnavailable */
  continuity(): Promise<Continuity>;
  /** Called before signing. @throws ChainReorganised, ReorgUnconfirmed, NetworkBehind, NetworkUnavailable */
  requireContinuity(): Promise<void>;
  /**
   * Whether the node lacks blocks that other answers have shown, and must be asked again.
   * @param latest the node's latest block, from the batch whose age it shows
   */
  isBehind(latest: Answer<Block | null>): boolean;
  /** The final block of the node's present chain. @throws NetworkBehind, NetworkUnavailable */
  presentHistory(): Promise<FinalLedger>;
  /**
   * Runs work on one final block. If that block vanishes meanwhile (a reorganisation deeper than the setting,
   * or a node that has not seen it), runs the work once more on the new final block.
   * @throws NetworkUnavailable, or what `work` throws
   */
  onFinalBlock<T>(work: (pin: Pin) => Promise<T>): Promise<T>;
  /** Asks in one batch, and verifies that the node still has the pinned block. @throws BlockReorganised */
  askTogether<const Questions extends readonly Question<unknown>[]>(
    pin: Pin,
    questions: Questions,
  ): Promise<AnswersTo<Questions>>;
}

/** The node's chain does not, or no longer, have the block that the answers should be about. */
export class BlockReorganised extends Error {
  override readonly name = 'BlockReorganised';
}

/** One failure may be a reorganisation; so many show that the node does not support blocks by hash. */
const MAX_HASH_FAILURES = 3;
/** Pins after which blocks by hash are tried again: other nodes behind a load balancer may support them. */
const PINS_UNTIL_NEXT_TRY = 1_000;

/**
 * More blocks than become final between two looks of a running server. A jump beyond that, after a start or
 * an outage of the node, is checked by asking again.
 */
const FAR_BEYOND_BLOCKS = 64n;
/** A fork takes back fewer blocks, and nodes that follow the chain differ by fewer. */
const HEADS_DIFFER_BLOCKS = 2n;

export function createFinality(
  rpc: JsonRpc,
  setting: FinalitySetting,
  seen: SeenLedgers = seenLedgersInMemory(),
  reorgs: ReorgDetector = createReorgDetector({}),
): Finality {
  const referenceTo = createReferences(rpc);
  const reported = createReportedLedgers();
  const isBehindReported = (latest: Answer<Block | null>) =>
    isBelow(latest, reported.latest() - HEADS_DIFFER_BLOCKS);
  async function look(stored: FinalLedger | null = null) {
    const unverified = seen.unverified();
    const known = [seen.highest(), unverified, stored];
    return { unverified, ...(await readEnds({ rpc, setting, isBehindReported }, known)) };
  }

  async function lookAtAll() {
    let found = await look();
    if (found.anchors.some(isGone)) {
      // Another instance may have accepted the present history meanwhile.
      found = await look(await seen.reread());
    }
    await requireTrue(rpc, found);
    reported.note(found.latest.number);
    return found;
  }

  async function readPin(): Promise<Pin> {
    const found = await lookAtAll();
    const { latest, anchors, unverified } = found;
    // The last anchor is the stored ledger, if it was read. If each instance named the last block it saw,
    // the instances would halt signing anew in turns.
    const gone = anchors.findLast(isGone);
    const rewritten = gone === undefined ? null : describeRewritten(gone);
    if (gone === undefined) reorgs.noteUnchanged();
    else if (!reorgs.noteReorg()) throw new ReorgUnconfirmed(describeUnconfirmed(gone));
    const final = finalOf(found);
    if (rewritten === null) seen.note({ ledger: final.number, hash: final.hash }, unverified);
    return { latest, final, state: await referenceTo(final), rewritten };
  }

  const pin = freshSingleFlight(readPin);

  return {
    pin,
    async continuity() {
      const { rewritten } = await pin();
      return rewritten === null ? { status: 'whole' } : { status: 'rewritten', message: rewritten };
    },
    async requireContinuity() {
      const { rewritten } = await pin();
      if (rewritten !== null) throw new ChainReorganised(rewritten);
      if (reorgs.isPending()) throw new ReorgUnconfirmed(SHOWN_BEFORE);
    },
    isBehind: (latest) => isBehindReported(latest) || isBelow(latest, seen.highest()?.ledger ?? 0n),
    async presentHistory() {
      const { number, hash } = finalOf(await lookAtAll());
      return { ledger: number, hash };
    },
    async onFinalBlock(work) {
      try {
        return await work(await pin());
      } catch (error) {
        if (!(error instanceof RpcError || error instanceof BlockReorganised)) throw error;
        return work(await pin());
      }
    },
    askTogether: (pinned, questions) => askAt(rpc, pinned, questions),
  };
}

/** @throws BlockReorganised */
async function askAt<const Questions extends readonly Question<unknown>[]>(
  rpc: JsonRpc,
  { final }: Pin,
  questions: Questions,
): Promise<AnswersTo<Questions>> {
  const answers = await retryWhile(
    ([block]) => block !== undefined && lacks(block),
    () => rpc.askTogether<readonly Question<unknown>[]>([ask.block(final.number), ...questions]),
  );
  const [sameBlock, ...rest] = answers as [Answer<Block | null>, ...Answer<unknown>[]];
  if (valueOf(sameBlock)?.hash !== final.hash) {
    throw new BlockReorganised(`Block ${final.number} is not ${final.hash} any more`);
  }
  return rest as AnswersTo<Questions>;
}

/**
 * The node's latest and final blocks, and the blocks that have the numbers of the known final ledgers now.
 */
async function readEnds(
  deps: { rpc: JsonRpc; setting: FinalitySetting; isBehindReported: Finality['isBehind'] },
  seen: readonly (FinalLedger | null)[],
): Promise<Ends> {
  const { rpc, setting, isBehindReported } = deps;
  const known = seen.filter((ledger) => ledger !== null);
  const [latestAnswer, taggedAnswer, ...anchorAnswers] = await retryWhile(
    ([latest, , ...anchors]) =>
      // A replaced block is not asked for again: it is a true answer, and the chain that replaces the old one
      // may be shorter.
      !anchors.some((answer, at) => isAnother(answer, known[at])) &&
      (anchors.some(lacks) || isBehindReported(latest)),
    () =>
      rpc.askTogether([
        ask.block('latest'),
        ask.block(setting === 'finalized' ? 'finalized' : 'latest'),
        ...known.map(({ ledger }) => ask.block(ledger)),
      ]),
  );
  const latest = requireBlock(valueOf(latestAnswer), 'latest');
  const reported =
    setting === 'finalized'
      ? requireBlock(valueOf(taggedAnswer), 'finalized')
      : await confirmedBlock(rpc, latest, setting.confirmations);
  const anchors = anchorAnswers.flatMap((answer, at): Anchor[] => {
    const ledger = known[at];
    return ledger === undefined ? [] : [{ seen: ledger, now: valueOf(answer) }];
  });
  return { latest, reported, anchors };
}

const lacks = (answer: Answer<unknown>) => 'value' in answer && answer.value === null;
const isBelow = (answer: Answer<Block | null>, number: bigint) =>
  'value' in answer && answer.value !== null && answer.value.number < number;

function isAnother(answer: Answer<Block | null>, seen: FinalLedger | undefined): boolean {
  return (
    'value' in answer && answer.value !== null && seen !== undefined && isGone({ seen, now: answer.value })
  );
}

async function confirmedBlock(rpc: JsonRpc, latest: Block, confirmations: number): Promise<Block> {
  if (confirmations === 0) return latest;
  const depth = BigInt(confirmations);
  const number = latest.number > depth ? latest.number - depth : 0n;
  const block = await retryWhile(
    (found) => found === null,
    () => rpc.ask(ask.block(number)),
  );
  return requireBlock(block, String(number));
}

interface Ends {
  latest: Block;
  reported: Block;
  anchors: readonly Anchor[];
}

/** A ledger that was final, and the block that has its number now. */
interface Anchor {
  seen: FinalLedger;
  now: Block | null;
}

/**
 * Refuses answers of a node that is behind or of another chain, because several nodes may share an address.
 * @throws NetworkBehind if the node lacks a block that was final; NetworkUnavailable if the node shows only
 *   once a block far beyond the highest one seen: if it were noted as seen, no true node would ever reach it
 */
async function requireTrue(rpc: JsonRpc, { latest, reported, anchors }: Ends): Promise<void> {
  const missing = anchors.find(({ seen: { ledger }, now }) => latest.number < ledger || now === null);
  if (missing) throw new NetworkBehind({ reported: reported.number, seen: missing.seen.ledger });
  const [highest] = anchors;
  if (highest === undefined || reported.number <= highest.seen.ledger + FAR_BEYOND_BLOCKS) return;
  const [again] = await rpc.askTogether([ask.block(reported.number)]);
  const shown = valueOf(again)?.hash ?? 'nothing';
  if (shown === reported.hash) return;
  throw new NetworkUnavailable(
    `The node showed ${reported.hash} as block ${reported.number}, and ${shown} when it is asked again`,
  );
}

/** The head may drop by a block or two during a fork; a final block does not. */
function finalOf({ reported, anchors }: Ends): Block {
  const [highest] = anchors;
  const isBack = !anchors.some(isGone) && highest !== undefined && reported.number < highest.seen.ledger;
  return isBack && highest.now !== null ? highest.now : reported;
}

function isGone({ seen, now }: Anchor): boolean {
  return now === null || (seen.hash !== null && now.hash !== seen.hash);
}

function describeRewritten({ seen: { ledger, hash }, now }: Anchor): string {
  return (
    `Block ${ledger} was final as ${hash}, and is ${now?.hash ?? 'not there'} now: the chain was rewritten below what ` +
    'was final. Nothing is signed until that is examined'
  );
}

/** Perhaps only one of several nodes showed it. */
const SHOWN_BEFORE =
  'The node showed another block in place of a final one moments ago: nothing is signed until it no longer does';

function describeUnconfirmed({ seen: { ledger, hash }, now }: Anchor): string {
  return `The node shows ${now?.hash ?? 'nothing'} as block ${ledger}, which was final as ${hash}: it is asked again before that is believed`;
}

/** References the block by hash, unless the node turns out not to support that. */
function createReferences(rpc: JsonRpc): (block: Block) => Promise<BlockReference> {
  let knowsHashes = false;
  let failures = 0;
  let pinsUntilTry = 0;
  return async (block) => {
    const byHash = { blockHash: block.hash, requireCanonical: true } as const;
    if (!knowsHashes && pinsUntilTry-- <= 0) {
      const [answer] = await rpc.askTogether([ask.transactionCount(ZERO_ADDRESS, byHash)]);
      if ('value' in answer) knowsHashes = true;
      else if (!mayBeTransient(answer.error) && ++failures >= MAX_HASH_FAILURES)
        pinsUntilTry = PINS_UNTIL_NEXT_TRY;
    }
    return knowsHashes ? byHash : quantityOf(block.number);
  };
}

function requireBlock(block: Block | null, which: string): Block {
  if (block) return block;
  throw new NetworkUnavailable(`The node has no ${which} block`);
}
