/**
 * A node that only asks for patience does not count as refusing batches; answers that do not belong to the
 * question are refused.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJsonRpc, isTooLong } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { ask } from '../../../../../src/ledger/network/evm/node.ts';
import { startFaultyNode, type FaultyNode } from '../../../../../devnet/evm/faultyNode.ts';
import { listenLocally } from '../../../../../devnet/listenLocally.ts';
import { NetworkUnavailable } from '../../../../../src/ledger/network/port.ts';
import { readBody } from '../../../../../src/lib/readBody.ts';

let node: FaultyNode;
beforeAll(async () => {
  node = await startFaultyNode('http://127.0.0.1:9');
  node.obey(() => ({ result: '0x7' }));
});
afterAll(() => node.close());

/** Two questions to a node that once answered a batch with this error. */
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

it.each(['{"message":"no such key"}', '{"error":"no such key"}', '<html>no such key</html>'])(
  'is unavailable by its status when a gateway answers in its own words: %s',
  async (body) => {
    node.answerAll({ status: 401, body });
    const rpc = createJsonRpc({ url: node.url, timeoutMs: 5_000 });
    await expect(rpc.ask(ask.chainId())).rejects.toThrow('it answered with status 401');
    node.answerAll(null);
  },
);

it('names what is wrong with an answer of another form', async () => {
  const rpc = createJsonRpc({ url: node.url, timeoutMs: 5_000 });
  node.answerAll({ status: 200, body: '"busy"' });
  await expect(rpc.ask(ask.chainId())).rejects.toThrow(': the answer: Invalid input: expected object');
  node.answerAll({ status: 200, body: '{"error":{"message":"busy"}}' });
  await expect(rpc.ask(ask.chainId())).rejects.toThrow(': error.code: Invalid input: expected number');
  node.answerAll(null);
});

describe('what lies between and mixes up answers', () => {
  const MAX_BODY_BYTES = 100_000;

  interface Asked {
    id: number;
  }

  /** The node answers each question with the number of earlier ones; `mixUp` decides which answers arrive. */
  async function asking<T>(
    mixUp: (told: { id: number; result: string }[]) => unknown,
    work: (rpc: ReturnType<typeof createJsonRpc>) => Promise<T>,
  ): Promise<T> {
    let asked = 0;
    const answer = async (request: IncomingMessage): Promise<string> => {
      const body = JSON.parse(String(await readBody(request, MAX_BODY_BYTES))) as Asked | Asked[];
      return JSON.stringify(mixUp([body].flat().map(({ id }) => ({ id, result: `0x${asked++}` }))));
    };
    const server = createServer((request, response) => {
      answer(request).then(
        (body) => response.end(body),
        () => response.destroy(),
      );
    });
    const { url, close } = await listenLocally(server);
    try {
      return await work(createJsonRpc({ url, timeoutMs: 5_000 }));
    } finally {
      await close();
    }
  }

  const two = (rpc: ReturnType<typeof createJsonRpc>) => rpc.askTogether([ask.chainId(), ask.chainId()]);

  it('is not believed when it gives the answer to the question before', async () => {
    let before: unknown = null;
    await asking(
      ([told]) => ([told, before] = [(before ?? told) as typeof told, told])[0],
      async (rpc) => {
        expect(await rpc.ask(ask.chainId())).toBe(0n);
        await expect(rpc.ask(ask.chainId())).rejects.toThrow(NetworkUnavailable);
      },
    );
    let batchBefore: unknown = null;
    await asking(
      (told) => ([told, batchBefore] = [(batchBefore ?? told) as typeof told, told])[0],
      async (rpc) => {
        expect(await two(rpc)).toEqual([{ value: 0n }, { value: 1n }]);
        await expect(two(rpc)).rejects.toThrow(NetworkUnavailable);
      },
    );
  });

  it('is not believed when it answers one question twice', async () => {
    const twice = asking((told) => [...told, { ...told[0], result: '0x9' }], two);
    await expect(twice).rejects.toThrow(/one question twice/);
  });

  it('may answer in another order, and with its numbers as text', async () => {
    const turned = asking(
      (told) => told.map(({ id, ...rest }) => ({ ...rest, id: String(id) })).toReversed(),
      two,
    );
    expect(await turned).toEqual([{ value: 0n }, { value: 1n }]);
  });

  it('answers no question when it names none', async () => {
    const error = { code: -32_000, message: 'no' };
    const unnamed = asking((told) => [...told.slice(1), { id: null, error }], two);
    await expect(unnamed).rejects.toThrow('left question 1 of 2 without an answer');
  });
});

describe('the answers to a list of questions', () => {
  const target = `0x${'a'.repeat(40)}` as const;
  const questions = Array.from({ length: 200 }, () => ask.call({ to: target, data: '0x' }, 'latest'));

  /** What is said of the answers to all questions when each has so many bytes. */
  async function asked(bytes: number, batches: 'batches' | 'single questions'): Promise<string> {
    node.obey(() => ({ result: `0x${'07'.repeat(bytes)}` }));
    node.limitBatches(batches === 'batches' ? null : 1);
    const rpc = createJsonRpc({ url: node.url, timeoutMs: 60_000 });
    return rpc.askEach(questions).then(
      (answers) => `${answers.length} answers`,
      (error: unknown) => (isTooLong(error) ? 'too long' : String(error)),
    );
  }

  it.each(['batches', 'single questions'] as const)('have 16 MiB together, in %s', async (batches) => {
    expect(await asked(40_000, batches)).toBe('200 answers');
    expect(await asked(45_000, batches)).toBe('too long');
  });
});
