/**
 * An EVM chain for the laboratory: anvil, behind a program that can answer falsely.
 */
import { startEvmWorld } from '../devnet/evm/evmWorld.ts';
import type { Anvil } from '../devnet/evm/anvil.ts';
import { startFaultyNode, type Rule } from '../devnet/evm/faultyNode.ts';
import { chosen, LEDGER_SECONDS, LEDGERS_BEHIND, settingsOf, type LabNode } from './labNode.ts';

const OTHER_CHAIN_ID = '0x1';

export async function startEvmNode(): Promise<LabNode> {
  const world = await startEvmWorld({ mining: { everySeconds: LEDGER_SECONDS } });
  const { node, ledger } = world;
  const indexerUrl = world.indexerUrl ?? '';
  const inFront = await startFaultyNode(node.url);
  return {
    url: inFront.url,
    indexerUrl,
    settings: {
      ...settingsOf(ledger, indexerUrl),
      LEDGER_CHAIN_ID: String(ledger.chainId),
      LEDGER_FINALITY: '1',
    },
    freeze: () => node.pause(),
    thaw: () => node.resume(),
    async lie(choice) {
      const [what, make] = chosen(lies, choice);
      inFront.obey(await make(node));
      return what;
    },
    obey: () => inFront.obey(),
    async dropWaiting() {
      await node.rpc('anvil_dropAllTransactions');
    },
    advanceTime: (seconds) => node.advanceTime(seconds),
    createHolder: world.createHolder,
    async close() {
      await inFront.close();
      await world.close();
    },
  };
}

interface Block {
  number: string;
  hash: string;
}

/** The platform neither reads nor signs by these lies, or stops signing until the lie ends. */
const lies: Readonly<Record<string, (node: Anvil) => Promise<Rule>>> = {
  'it is behind': async (node) => {
    const { number } = await blockAt(node, 'latest');
    const old = await blockAt(node, `0x${Math.max(Number(number) - LEDGERS_BEHIND, 0).toString(16)}`);
    return ({ method, params: [at] }) =>
      method === 'eth_getBlockByNumber' && isTag(at) ? { result: old } : undefined;
  },
  'its chain has other blocks': async (node) => {
    const { number, ...block } = await blockAt(node, 'latest');
    return ({ method, params: [at] }) => {
      if (method !== 'eth_getBlockByNumber' || isTag(at) || Number(at) > Number(number)) return undefined;
      return { result: { ...block, number: at, hash: otherHash(block.hash) } };
    };
  },
  'it is of another network': async () => {
    return ({ method }) => (method === 'eth_chainId' ? { result: OTHER_CHAIN_ID } : undefined);
  },
};

async function blockAt(node: Anvil, at: string): Promise<Block> {
  return (await node.rpc('eth_getBlockByNumber', [at, false])) as Block;
}

function isTag(at: unknown): boolean {
  return typeof at === 'string' && !at.startsWith('0x');
}

function otherHash(hash: string): string {
  return hash.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
}
