/**
 * How many blocks a node is asked about at a time: what it can answer, also after it was in trouble for a while.
 */
import { expect, it } from 'vitest';
import { RpcError } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { createLogSearch } from '../../../../../src/ledger/network/evm/logSearch.ts';

const FILTER = { address: `0x${'f'.repeat(40)}`, topics: [] } as const;

/** A node that answers for so many blocks at a time. */
function startNode(maxBlocks: number) {
  const node = { maxBlocks, widths: [] as number[] };
  const search = createLogSearch({
    async ask({ method, params, read }) {
      const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
      const width = Number(toBlock) - Number(fromBlock) + 1;
      node.widths.push(width);
      if (width > node.maxBlocks) throw new RpcError(method, { code: -32005, message: 'limit exceeded' });
      return read([]);
    },
  });
  const questionsFor = async (blocks: bigint) => {
    node.widths = [];
    await search(FILTER, { from: 0n, to: blocks - 1n });
    return node.widths.length;
  };
  return { node, questionsFor };
}

it('are asked about as many blocks at a time as they answer for', async () => {
  const { node, questionsFor } = startNode(10_000);
  expect(await questionsFor(1_000_000n)).toBeLessThan(160);
  expect(Math.max(...node.widths.slice(20))).toBeLessThan(20_000);
});

it('are asked about many blocks again after a while in which they answered nothing', async () => {
  const { node, questionsFor } = startNode(10_000);
  await questionsFor(1_000_000n);
  node.maxBlocks = 0;
  await expect(questionsFor(1_000_000n)).rejects.toThrow('limit exceeded');
  node.maxBlocks = 10_000;
  await questionsFor(1_000_000n);
  expect(await questionsFor(1_000_000n)).toBeLessThan(160);
});
