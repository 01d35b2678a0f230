/**
 * Follows an EVM node's logs: yields each documented event once, in order, and the blocks that a
 * reorganisation removed.
 */
import { decodeEventLog, toEventSelector } from 'viem';
import type { Abi, AbiEvent, Hex, RpcLog } from 'viem';
import type { IndexedEvent } from '../../src/indexer/client.ts';
import type { News } from '../indexerMemory.ts';
import { carbonTokenAbi, factoryAbi } from './referenceAbi.ts';
import type { RpcCall } from './rpc.ts';

/** The indexer's names of the events that it supports; other logs are ignored. */
const EVENT_TYPES: Readonly<Record<string, string>> = {
  CreditsRetired: 'retired',
  TokenDeployed: 'deployed',
  Transfer: 'transfer',
};
const DOCUMENTED: Abi = [...carbonTokenAbi, ...factoryAbi];
const EVENTS = DOCUMENTED.filter(isKnownEvent);
/** Nodes limit the logs of an answer. */
const MAX_BLOCKS_PER_READ = 1_000;
/** Deeper than any test's reorganisation. */
const MAX_REMEMBERED_BLOCKS = 256;

interface RpcBlock {
  hash: Hex;
  timestamp: Hex;
}

/** Starts at the chain's first block; call the result repeatedly. */
export function createChainReader(rpc: RpcCall): () => Promise<News> {
  let nextBlock = 0;
  /** By number, the block that was canonical when it was read. */
  const known = new Map<number, Hex>();

  const blockAt = (number: number) =>
    rpc('eth_getBlockByNumber', [hexNumber(number), false]) as Promise<RpcBlock | null>;

  async function stepBack(): Promise<number | null> {
    const before = nextBlock;
    for (;;) {
      const remembered = known.get(nextBlock - 1);
      if (remembered === undefined || (await blockAt(nextBlock - 1))?.hash === remembered) break;
      nextBlock -= 1;
      known.delete(nextBlock);
    }
    return nextBlock < before ? nextBlock : null;
  }

  /** Every block is kept, not only those with logs, because a fork can begin at any block. */
  async function timesOf(from: number, to: number): Promise<Map<number, number>> {
    const times = new Map<number, number>();
    for (let number = from; number <= to; number++) {
      const block = await blockAt(number);
      if (!block) throw new Error(`Block ${number} went away while it was read`);
      times.set(number, Number(block.timestamp));
      known.set(number, block.hash);
      known.delete(number - MAX_REMEMBERED_BLOCKS);
    }
    return times;
  }

  return async () => {
    const undoneFrom = await stepBack();
    const latest = Number(await rpc('eth_blockNumber'));
    const last = Math.min(latest, nextBlock + MAX_BLOCKS_PER_READ - 1);
    if (last < nextBlock) return { undoneFrom, events: [], hasMore: false };
    const times = await timesOf(nextBlock, last);
    const logs = (await rpc('eth_getLogs', [
      {
        fromBlock: hexNumber(nextBlock),
        toBlock: hexNumber(last),
        topics: [EVENTS.map((event) => toEventSelector(event))],
      },
    ])) as RpcLog[];
    nextBlock = last + 1;
    return {
      undoneFrom,
      hasMore: last < latest,
      events: logs.map((log) => toIndexedEvent(log, times.get(Number(log.blockNumber)) ?? 0)),
    };
  };
}

/**
 * Arguments by position: the indexed ones are the topics, the others the value. Addresses are as the node
 * writes them.
 */
function toIndexedEvent(log: RpcLog, timestamp: number): IndexedEvent {
  const { eventName, args } = decodeEventLog({ abi: EVENTS, data: log.data, topics: log.topics });
  const event = EVENTS.find(({ name }) => name === eventName);
  const values: Readonly<Record<string, unknown>> = { ...args };
  const pick = (isIndexed: boolean) =>
    (event?.inputs ?? [])
      .filter(({ indexed = false }) => indexed === isIndexed)
      .map(({ name = '' }) => wireValue(name, values[name]));
  return {
    id: `${log.transactionHash}-${Number(log.logIndex)}`,
    contract: log.address,
    eventType: EVENT_TYPES[eventName ?? ''] ?? '',
    ledger: Number(log.blockNumber),
    txHash: log.transactionHash ?? '',
    timestamp,
    data: { topics: pick(true), value: pick(false) },
  };
}

/** Numbers are decimal strings on the wire, except a record's index. */
function wireValue(name: string, value: unknown): unknown {
  if (name === 'retirementIndex') return Number(value);
  return typeof value === 'bigint' ? String(value) : value;
}

function isKnownEvent(item: Abi[number]): item is AbiEvent {
  return item.type === 'event' && Object.hasOwn(EVENT_TYPES, item.name);
}

function hexNumber(value: number): Hex {
  return `0x${value.toString(16)}`;
}
