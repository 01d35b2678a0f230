/**
 * The factories' deployments, from their events: the only place on the network that names a token's asset.
 *
 * Custody's own tokens are followed as the chain grows, because finding one by its asset needs all their events; any
 * other token is looked up by its indexed address.
 */
import { decodeEventLog, encodeEventTopics, pad } from 'viem';
import type { Address, Hex } from 'viem';
import type { Hash32, TokenTemplate } from '../port.ts';
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
  template: TokenTemplate;
  assetIdHash: Hash32;
}

export interface Deployments {
  tokenAt(address: Address, pin: Pin): Promise<DeployedToken | null>;
  /** The first token that custody deployed for the asset. */
  ownTokenOf(assetIdHash: Hash32, pin: Pin): Promise<DeployedToken | null>;
  /** From the settlement factory's event. */
  treasuryOf(settlement: Address, pin: Pin): Promise<Address | null>;
}

interface Options {
  rpc: JsonRpc;
  contracts: ContractAddresses;
  custodyAddress: Address;
  /** Neither factory is older: saves many requests where histories are long and nodes limit ranges. */
  firstBlock: bigint;
}

/** Tokens of others are kept in memory, some 200 bytes each. */
const MAX_REMEMBERED = 10_000;
/** Blocks that are read again, in case of a reorganisation below what the setting calls final. */
const OVERLAP_BLOCKS = 64n;

export function createDeployments(options: Options): Deployments {
  const { rpc, contracts, firstBlock } = options;
  const search = createLogSearch(rpc);
  const remembered = new Map<Address, SeenToken>();
  const own = followOwnTokens(options, search);
  let reported: { settlement: Address; treasury: Address } | null = null;

  async function lookUp(address: Address, pin: Pin): Promise<DeployedToken | null> {
    const topics = tokenDeployedTopics({ tokenAddress: address });
    const range = { from: firstBlock, to: pin.final.number };
    const logs = await search({ address: contracts.factory, topics }, range, { isOneEnough: true });
    const [found] = logs.flatMap(readTokenDeployed);
    if (!found) return null;
    remember(remembered, address, found);
    return found;
  }

  return {
    async tokenAt(address, pin) {
      const known = own.byAddress(address) ?? remembered.get(address);
      if (known && (await isStillThere(rpc, known.block))) return known;
      remembered.delete(address);
      if ((await rpc.ask(ask.code(address, pin.state))) === '0x') return null;
      return lookUp(address, pin);
    },
    async ownTokenOf(assetIdHash, pin) {
      await own.catchUp(pin);
      const known = own.byAsset(assetIdHash);
      if (known && !(await isStillThere(rpc, known.block))) {
        own.startAgain();
        await own.catchUp(pin);
      }
      return own.byAsset(assetIdHash) ?? null;
    },
    async treasuryOf(settlement, pin) {
      if (contracts.settlementFactory === null) return null;
      if (reported?.settlement === settlement) return reported.treasury;
      const topics = encodeEventTopics({
        abi: settlementFactoryAbi,
        eventName: 'RampSettlementDeployed',
        args: { settlementAddress: settlement },
      }) as (Hex | null)[];
      const range = { from: firstBlock, to: pin.final.number };
      const filter = { address: contracts.settlementFactory, topics };
      const [log] = await search(filter, range, { isOneEnough: true });
      const treasury = log ? readTreasury(log) : null;
      if (treasury) reported = { settlement, treasury };
      return treasury;
    },
  };
}

/** Bounded by what custody paid to deploy. */
function followOwnTokens({ contracts, custodyAddress, firstBlock }: Options, search: LogSearch) {
  let readUpTo = firstBlock - 1n;
  const byAddress = new Map<Address, SeenToken>();
  const byAsset = new Map<Hash32, SeenToken>();
  const topics = tokenDeployedTopics({ deployer: custodyAddress });

  function keep(token: SeenToken): void {
    byAddress.set(token.tokenAddress, token);
    const first = byAsset.get(token.assetIdHash);
    // After a reorganisation the same token may be in another block.
    if (!first || first.tokenAddress === token.tokenAddress) byAsset.set(token.assetIdHash, token);
  }

  async function catchUp(pin: Pin): Promise<void> {
    const overlapping = readUpTo + 1n - OVERLAP_BLOCKS;
    const from = overlapping > firstBlock ? overlapping : firstBlock;
    const filter = { address: contracts.factory, topics };
    await search(
      filter,
      { from, to: pin.final.number },
      {
        onRead: (logs, upTo) => {
          for (const token of logs.flatMap(readTokenDeployed)) keep(token);
          if (upTo > readUpTo) readUpTo = upTo;
        },
      },
    );
  }

  return {
    catchUp,
    byAddress: (address: Address) => byAddress.get(address),
    byAsset: (assetIdHash: Hash32) => byAsset.get(assetIdHash),
    startAgain() {
      readUpTo = firstBlock - 1n;
      byAddress.clear();
      byAsset.clear();
    },
  };
}

type Seen = Pick<Block, 'number' | 'hash'>;
type SeenToken = DeployedToken & { block: Seen };

async function isStillThere(rpc: JsonRpc, seen: Seen): Promise<boolean> {
  return (await rpc.ask(ask.block(seen.number)))?.hash === seen.hash;
}

function tokenDeployedTopics(args: { tokenAddress: Address } | { deployer: Address }): (Hex | null)[] {
  const [signature] = encodeEventTopics({ abi: factoryAbi, eventName: 'TokenDeployed' });
  return 'tokenAddress' in args
    ? [signature, null, pad(args.tokenAddress)]
    : [signature, null, null, pad(args.deployer)];
}

function readTokenDeployed(log: Log): SeenToken[] {
  const { args } = decodeEventLog({
    abi: factoryAbi,
    eventName: 'TokenDeployed',
    topics: log.topics as [Hex, ...Hex[]],
    data: log.data,
  });
  const tokenAddress = normalizeAddress(args.tokenAddress.toLowerCase());
  const template = templateOf(args.template);
  if (tokenAddress === null || template === null) return [];
  const block = { number: log.blockNumber, hash: log.blockHash };
  return [{ tokenAddress, template, assetIdHash: args.assetId.toLowerCase(), block }];
}

/** Factories have more templates than this platform uses. */
function templateOf(number: number): TokenTemplate | null {
  if (number === TEMPLATE_NUMBERS['carbon-credit']) return 'carbon-credit';
  return number === TEMPLATE_NUMBERS.commodity ? 'commodity' : null;
}

function readTreasury(log: Log): Address | null {
  const { args } = decodeEventLog({
    abi: settlementFactoryAbi,
    eventName: 'RampSettlementDeployed',
    topics: log.topics as [Hex, ...Hex[]],
    data: log.data,
  });
  return normalizeAddress(args.treasury.toLowerCase());
}

function remember(remembered: Map<Address, SeenToken>, address: Address, token: SeenToken): void {
  const [oldest] = remembered.keys();
  if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  remembered.set(address, token);
}
