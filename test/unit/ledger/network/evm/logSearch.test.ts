/**
 * The number of blocks in one question: as many as the node can answer, also after temporary failures.
 */
import { expect, it } from 'vitest';
import { AnswerTooLong } from '../../../../../src/lib/boundedAnswer.ts';
import { NetworkUnavailable } from '../../../../../src/ledger/network/port.ts';
import { RpcError, valueOf } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import type { Answer, Question } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { createLogSearch } from '../../../../../src/ledger/network/evm/logSearch.ts';

const FILTER = { address: `0x${'f'.repeat(40)}`, topics: [] } as const;

/** A node that answers for at most `maxBlocks` blocks at a time, and has the blocks up to `head`. */
function startNode(maxBlocks: number) {
  const node = {
    maxBlocks,
    head: 1_000_000n,
    refusesBatches: false,
    isTooLong: false,
    widths: [] as number[],
  };
  function answer({ method, params, read }: Question<unknown>): Answer<unknown> {
    if (method === 'eth_getBlockByNumber') {
      return { value: BigInt(params[0] as string) > node.head ? null : { number: params[0] } };
    }
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
    const width = Number(toBlock) - Number(fromBlock) + 1;
    node.widths.push(width);
    if (node.isTooLong && width > node.maxBlocks) {
      throw new NetworkUnavailable('too long', { cause: new AnswerTooLong('it is too long') });
    }
    return width > node.maxBlocks
      ? { error: new RpcError(method, { code: -32005, message: 'limit exceeded' }) }
      : { value: read([]) };
  }
  const search = createLogSearch({
    ask: async (question) => valueOf(answer(question)) as never,
    async askTogether(questions) {
      const answers = questions.map(answer);
      const [refusal] = answers.flatMap((one) => ('error' in one ? [one.error] : []));
      if (node.refusesBatches && refusal) throw new NetworkUnavailable(refusal.message);
      return answers as never;
    },
  });
  const questionsFor = async (blocks: bigint) => {
    node.widths = [];
    await search(FILTER, { from: 0n, to: blocks - 1n });
    return node.widths.length;
  };
  return { node, search, questionsFor };
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

it('are fewer at a node that refuses a whole batch for the width of one question', async () => {
  const { node, questionsFor } = startNode(10_000);
  node.refusesBatches = true;
  expect(await questionsFor(100_000n)).toBeLessThan(40);
});

it('are fewer where their logs are too long', async () => {
  const { node, questionsFor } = startNode(10_000);
  node.isTooLong = true;
  expect(await questionsFor(100_000n)).toBeLessThan(40);
});

it('does not take the empty answer of a node that is behind for "there are no logs"', async () => {
  const { node, search } = startNode(10_000);
  node.head = 99n;
  expect(await search(FILTER, { from: 0n, to: 99n })).toEqual([]);
  await expect(search(FILTER, { from: 0n, to: 100n })).rejects.toThrow('no block 100 yet');
});
