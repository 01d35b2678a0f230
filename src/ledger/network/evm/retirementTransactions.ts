/**
 * Finds the transactions that made a token's retirement records, from the token's events in final blocks.
 *
 * A hinted transaction is read and must contain the event. Without a correct hint, a binary search by the
 * record's time finds its block (block times rise), and the logs around that block contain the event.
 */
import { encodeEventTopics, parseEventLogs } from 'viem';
import type { Address, Hash, Hex } from 'viem';
import { largest, smallest } from '../../../lib/bigints.ts';
import { ChainReorganised, NetworkUnavailable } from '../port.ts';
import type { TransactionHash, WantedTransaction } from '../port.ts';
import { requireAddress } from './addresses.ts';
import { carbonTokenAbi } from './contracts.ts';
import type { Finality, Pin } from './finality.ts';
import { isTooLong, type JsonRpc } from './jsonRpc.ts';
import type { LogSearch } from './logSearch.ts';
import { ask } from './node.ts';
import type { Log } from './node.ts';
import { asViemLog, isSame } from './results.ts';
import { valueIfKept } from './transientErrors.ts';

interface Deps {
  rpc: JsonRpc;
  finality: Finality;
  search: LogSearch;
  firstBlock: bigint;
}

type Found = Map<number, TransactionHash>;

const HASH = /^0x[0-9a-f]{64}$/i;
/** Maximum hints of one record; further ones are ignored. */
const MAX_HINTS = 4;
/** Records are usually close to each other; otherwise the next call finds the rest. */
const ENOUGH_QUESTIONS = 20;

export async function retirementTransactions(
  deps: Deps,
  tokenAddress: string,
  wanted: readonly WantedTransaction[],
): Promise<ReadonlyMap<number, TransactionHash>> {
  const token = requireAddress(tokenAddress);
  return deps.finality.onFinalBlock(async (pin) => {
    // A record's transaction is stored once, and this one may be on one node's fork only.
    if (pin.rewritten !== null) throw new ChainReorganised(pin.rewritten);
    const hinted = await readHinted(deps, pin, token, wanted);
    const missing = wanted.filter(({ index }) => !hinted.has(index));
    return missing.length === 0
      ? hinted
      : new Map([...hinted, ...(await findByTime(deps, pin, token, missing))]);
  });
}

/**
 * Looks at fewer hints at a time where the answers are too long: receipts have the logs of strangers, too. A
 * record whose own hints are too long is found by its time, so that it holds up no other.
 */
async function readHinted(
  deps: Deps,
  pin: Pin,
  token: Address,
  wanted: readonly WantedTransaction[],
): Promise<Found> {
  try {
    return await readHintedAtOnce(deps, pin, token, wanted);
  } catch (error) {
    if (!isTooLong(error)) throw error;
    if (wanted.length === 1) return new Map();
    const half = Math.ceil(wanted.length / 2);
    const first = await readHinted(deps, pin, token, wanted.slice(0, half));
    return new Map([...first, ...(await readHinted(deps, pin, token, wanted.slice(half)))]);
  }
}

async function readHintedAtOnce(
  { rpc }: Deps,
  { final }: Pin,
  token: Address,
  wanted: readonly WantedTransaction[],
): Promise<Found> {
  const hints = wanted.flatMap((record) =>
    record.hints.filter((hint) => HASH.test(hint)).slice(0, MAX_HINTS),
  );
  const hashes = [...new Set(hints.map((hint) => hint.toLowerCase() as Hash))];
  // A node's error about one hash (invalid, or pruned history) says nothing about the record. A busy node's
  // error is thrown, because hints are deleted once they were looked at.
  const receipts = (await rpc.askEach(hashes.map(ask.receipt)))
    .map(valueIfKept)
    .filter((receipt) => receipt !== null)
    .filter(({ blockNumber }) => blockNumber <= final.number);
  const answers = await rpc.askEach(receipts.map(({ blockNumber }) => ask.block(blockNumber)));
  const blocks = answers.map(valueIfKept);
  const inChain = receipts.filter(({ blockHash }, at) => blocks[at]?.hash === blockHash);
  return indexesIn(
    token,
    wanted,
    inChain.flatMap(({ logs }) => logs),
  );
}

async function findByTime(
  { rpc, search, firstBlock }: Deps,
  { final }: Pin,
  token: Address,
  missing: readonly WantedTransaction[],
): Promise<Found> {
  const times = missing.map(({ timestamp }) => timestamp);
  const from = await firstSince(rpc, smallest(...times), { from: firstBlock, to: final.number });
  const after = await firstSince(rpc, largest(...times) + 1n, { from, to: final.number });
  const topics = encodeEventTopics({ abi: carbonTokenAbi, eventName: 'CreditsRetired' }) as Hex[];
  const range = { from, to: after - 1n };
  const logs = await search({ address: token, topics }, range, { enoughQuestions: ENOUGH_QUESTIONS });
  return indexesIn(token, missing, logs);
}

/** The first block at or after this time; one past the range if there is none. */
async function firstSince(rpc: JsonRpc, time: bigint, range: { from: bigint; to: bigint }): Promise<bigint> {
  let low = range.from;
  let high = range.to + 1n;
  // The loop ends: it halves the range each time.
  while (low < high) {
    const middle = (low + high) / 2n;
    const block = await rpc.ask(ask.block(middle));
    if (block === null) throw new NetworkUnavailable(`The node has no block ${middle}`);
    if (block.timestamp >= time) high = middle;
    else low = middle + 1n;
  }
  return low;
}

function indexesIn(token: Address, wanted: readonly WantedTransaction[], logs: readonly Log[]): Found {
  const indexes = new Set(wanted.map(({ index }) => index));
  const own = logs.filter((log) => isSame(log.address, token)).map(asViemLog);
  const events = parseEventLogs({ abi: carbonTokenAbi, eventName: 'CreditsRetired', logs: own });
  return new Map(
    events.flatMap(({ args, transactionHash }): [number, string][] => {
      const index = Number(args.retirementIndex);
      return indexes.has(index) && transactionHash !== null ? [[index, transactionHash.toLowerCase()]] : [];
    }),
  );
}
