/**
 * Lies of a node that the platform promises to notice: it then neither reads nor signs by it, or stops signing until the truth is told
 * again. `reconcile` and the verdict ask the node behind, which always tells it.
 */
import type { Anvil } from '../devnet/evm/anvil.ts';
import type { Rule } from '../devnet/evm/faultyNode.ts';

/** Behind every block that servers have seen as final: one block is one second. */
const BLOCKS_BEHIND = 20;
const OTHER_CHAIN_ID = '0x1';

interface Block {
  number: string;
  hash: string;
}

const lies: Readonly<Record<string, (node: Anvil) => Promise<Rule>>> = {
  'it is behind': async (node) => {
    const { number } = await blockAt(node, 'latest');
    const old = await blockAt(node, `0x${Math.max(Number(number) - BLOCKS_BEHIND, 0).toString(16)}`);
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

export async function lieOf(node: Anvil, choice: number): Promise<{ what: string; rule: Rule }> {
  const [what, make] = Object.entries(lies)[choice % Object.keys(lies).length] ?? [];
  if (what === undefined || make === undefined) throw new Error('there are no lies');
  return { what, rule: await make(node) };
}

async function blockAt(node: Anvil, at: string): Promise<Block> {
  return (await node.rpc('eth_getBlockByNumber', [at, false])) as Block;
}

function isTag(at: unknown): boolean {
  return typeof at === 'string' && !at.startsWith('0x');
}

function otherHash(hash: string): string {
  return hash.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
}
