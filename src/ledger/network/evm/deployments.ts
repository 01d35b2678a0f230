/**
 * Reads the factories' deployments from their events, the only place on the network that names a token's
 * asset. Finding a token by its asset needs all events of custody's tokens, so these are followed as the
 * chain grows.
 */
import { decodeEventLog, encodeEventTopics, pad } from 'viem';
import type { Address, Hex } from 'viem';
import { NetworkUnavailable, type Hash32 } from '../port.ts';
import { normalizeAddress } from './addresses.ts';
import { TEMPLATE_NUMBERS, factoryAbi, settlementFactoryAbi } from './contracts.ts';
import type { ContractAddresses } from './contracts.ts';
import type { Pin } from './finality.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { createLogSearch } from './logSearch.ts';
import type { LogSearch } from './logSearch.ts';
import { ask } from './node.ts';
import type { Block, Log } from './node.ts';

interface DeployedToken {
  tokenAddress: Address;
  assetIdHash: Hash32;
}

interface DeployedSettlement {
  settlement: Address | null;
  treasury: Address | null;
}

export interface Deployments {
  /** The first token that custody deployed for the asset. */
  ownTokenOf(assetIdHash: Hash32, pin: Pin): Promise<DeployedToken | null>;
  ownTokensSince(block: bigint, pin: Pin): Promise<Address[]>;
  /** The treasury of the settlement contract in use, as the settlement factory's event names it. */
  treasuryInUse(pin: Pin): Promise<Address | null>;
  /** The first settlement contract that custody deployed. */
  ownSettlement(pin: Pin): Promise<DeployedSettlement | null>;
}

interface Options {
  rpc: JsonRpc;
  contracts: ContractAddresses;
  custodyAddress: Address;
  /**
   * No factory is older than this block. It saves many requests if histories are long and nodes limit ranges.
   */
  firstBlock: bigint;
}

/** Blocks that are read again, in case of a reorganisation below the block that the setting calls final. */
const OVERLAP_BLOCKS = 64n;

export function createDeployments(options: Options): Deployments {
  const { rpc } = options;
  const search = createLogSearch(rpc);
  const own = followOwnTokens(options, search);
  const { settlement } = options.contracts;
  const inUse = settlement && seekSettlement(options, search, { settlementAddress: settlement });
  let treasury: Address | null = null;

  return {
    async ownTokenOf(assetIdHash, pin) {
      const known = (await own.readUpTo(pin)).get(assetIdHash);
      if (!known || (await isStillThere(rpc, known.block))) return known ?? null;
      own.startAgain();
      return (await own.readUpTo(pin)).get(assetIdHash) ?? null;
    },
    ownTokensSince: own.since,
    async treasuryInUse(pin) {
      treasury ??= (await inUse?.(pin))?.treasury ?? null;
      return treasury;
    },
    ownSettlement: seekSettlement(options, search, { deployer: options.custodyAddress }),
  };
}

type SeekSettlement = (pin: Pin) => Promise<DeployedSettlement | null>;

/**
 * Remembers the range that was read without a result, so that a search of more questions than one call may
 * ask completes over several calls.
 */
function seekSettlement(
  { contracts: { settlementFactory }, firstBlock }: Options,
  search: LogSearch,
  args: { settlementAddress: Address } | { deployer: Address },
): SeekSettlement {
  let readUpTo = firstBlock - 1n;
  return async (pin) => {
    if (settlementFactory === null) return null;
    const topics = encodeEventTopics({
      abi: settlementFactoryAbi,
      eventName: 'RampSettlementDeployed',
      args,
    }) as (Hex | null)[];
    const range = { from: nextToRead(readUpTo, firstBlock), to: pin.final.number };
    const [log] = await search({ address: settlementFactory, topics }, range, {
      isOneEnough: true,
      onRead: (logs, upTo) => {
        if (logs.length === 0 && upTo > readUpTo) readUpTo = upTo;
      },
    });
    return log ? readSettlementDeployed(log) : null;
  };
}

function nextToRead(readUpTo: bigint, firstBlock: bigint): bigint {
  const overlapping = readUpTo + 1n - OVERLAP_BLOCKS;
  return overlapping > firstBlock ? overlapping : firstBlock;
}

/** The templates that this platform uses; factories have more. */
const TEMPLATES: readonly number[] = Object.values(TEMPLATE_NUMBERS);

/** Keeps custody's tokens in memory: their number is bounded by what custody paid to deploy. */
function followOwnTokens({ contracts, custodyAddress, firstBlock }: Options, search: LogSearch) {
  const nothing = () => ({ upTo: firstBlock - 1n, byAsset: new Map<Hash32, SeenToken>() });
  let seen = nothing();
  const [signature] = encodeEventTopics({ abi: factoryAbi, eventName: 'TokenDeployed' });
  const topics: (Hex | null)[] = [signature, null, null, pad(custodyAddress)];
  const filter = { address: contracts.factory, topics };

  function keep({ byAsset }: typeof seen, token: SeenToken): void {
    const first = byAsset.get(token.assetIdHash);
    // After a reorganisation the same token may be in another block.
    if (!first || first.tokenAddress === token.tokenAddress) byAsset.set(token.assetIdHash, token);
  }

  return {
    /** @returns all tokens that custody deployed up to the pinned block, by asset */
    async readUpTo(pin: Pin): Promise<ReadonlyMap<Hash32, SeenToken>> {
      // If a concurrent call starts again, this run keeps writing to its own map: the new map must not get
      // the end of the range without its beginning.
      const mine = seen;
      await search(
        filter,
        { from: nextToRead(mine.upTo, firstBlock), to: pin.final.number },
        {
          onRead: (logs, upTo) => {
            for (const token of logs.flatMap(readTokenDeployed)) keep(mine, token);
            if (upTo > mine.upTo) mine.upTo = upTo;
          },
        },
      );
      return mine.byAsset;
    },
    startAgain() {
      seen = nothing();
    },
    async since(block: bigint, pin: Pin): Promise<Address[]> {
      const range = { from: block > firstBlock ? block : firstBlock, to: pin.final.number };
      const logs = await search(filter, range);
      return logs.flatMap(readTokenDeployed).map(({ tokenAddress }) => tokenAddress);
    },
  };
}

type Seen = Pick<Block, 'number' | 'hash'>;
type SeenToken = DeployedToken & { block: Seen };

/** @throws NetworkUnavailable if the node is behind, which does not prove that the block is gone */
async function isStillThere(rpc: JsonRpc, seen: Seen): Promise<boolean> {
  const block = await rpc.ask(ask.block(seen.number));
  if (block === null) throw new NetworkUnavailable(`The node has no block ${seen.number} yet`);
  return block.hash === seen.hash;
}

function readTokenDeployed(log: Log): SeenToken[] {
  const { args } = decodeEventLog({
    abi: factoryAbi,
    eventName: 'TokenDeployed',
    topics: log.topics as [Hex, ...Hex[]],
    data: log.data,
  });
  const tokenAddress = normalizeAddress(args.tokenAddress.toLowerCase());
  if (tokenAddress === null || !TEMPLATES.includes(args.template)) return [];
  const block = { number: log.blockNumber, hash: log.blockHash };
  return [{ tokenAddress, assetIdHash: args.assetId.toLowerCase(), block }];
}

function readSettlementDeployed(log: Log): DeployedSettlement {
  const { args } = decodeEventLog({
    abi: settlementFactoryAbi,
    eventName: 'RampSettlementDeployed',
    topics: log.topics as [Hex, ...Hex[]],
    data: log.data,
  });
  return {
    settlement: normalizeAddress(args.settlementAddress.toLowerCase()),
    treasury: normalizeAddress(args.treasury.toLowerCase()),
  };
}
