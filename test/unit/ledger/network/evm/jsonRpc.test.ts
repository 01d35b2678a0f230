/**
 * When a node is taken to refuse batches: not while it only asks for patience.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createJsonRpc } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { ask } from '../../../../../src/ledger/network/evm/node.ts';
import { startFaultyNode, type FaultyNode } from '../../../../../devnet/evm/faultyNode.ts';

let node: FaultyNode;
beforeAll(async () => {
  node = await startFaultyNode('http://127.0.0.1:9');
  node.obey(() => ({ result: '0x7' }));
});
afterAll(() => node.close());

/** A node that answered a batch so once. */
async function afterAnswer(code: number, message: string) {
  const rpc = createJsonRpc({ url: node.url, timeoutMs: 5_000 });
  const askTwo = () => rpc.askTogether([ask.chainId(), ask.chainId()]);
  node.answerAll({
    status: 200,
    body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }),
  });
  const first = askTwo();
  await first.catch(() => undefined);
  node.answerAll(null);
  return { rpc, first, askTwo };
}

it.each([
  [-32005, 'batch rate limit exceeded'],
  [-32000, 'timeout while answering the batch'],
])('is asked in batches again after %i "%s"', async (code, message) => {
  const { rpc, first, askTwo } = await afterAnswer(code, message);
  await expect(first).rejects.toThrow(message);
  expect(await askTwo()).toEqual([{ value: 7n }, { value: 7n }]);
  expect(rpc.takesBatches()).toBe(true);
  expect(node.batchSizes.at(-1)).toBe(2);
});

it.each([
  [-32600, 'batch requests are not supported'],
  [-32005, 'batch size limit exceeded'],
  [429, 'too many requests in a batch'],
])('is asked one by one after %i "%s"', async (code, message) => {
  const { rpc, askTwo } = await afterAnswer(code, message);
  expect(await askTwo()).toEqual([{ value: 7n }, { value: 7n }]);
  expect(rpc.takesBatches()).toBe(false);
  expect(node.batchSizes.at(-1)).toBe(1);
});
