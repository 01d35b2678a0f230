/**
 * Hints about a record's transaction: a hint that the node failed to look up does not count as examined.
 */
import { encodeAbiParameters, encodeEventTopics } from 'viem';
import { expect, it } from 'vitest';
import { carbonTokenAbi } from '../../../../../src/ledger/network/evm/contracts.ts';
import { RpcError } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import type { Question } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { retirementTransactions } from '../../../../../src/ledger/network/evm/retirementTransactions.ts';
import { NetworkUnavailable } from '../../../../../src/ledger/network/port.ts';
import { AnswerTooLong } from '../../../../../src/lib/boundedAnswer.ts';

const BLOCK = {
  number: '0x1',
  hash: `0x${'b'.repeat(64)}`,
  timestamp: '0x1',
  gasLimit: '0x1',
};
const hintOf = (index: number) => `0x${'a'.repeat(63)}${index}`;
const HINT = hintOf(0);
const RECEIPT = {
  transactionHash: HINT,
  blockHash: BLOCK.hash,
  blockNumber: BLOCK.number,
  status: '0x1',
  gasUsed: '0x1',
  logs: [],
};
const logOf = (index: bigint) => ({
  address: `0x${'c'.repeat(40)}`,
  topics: encodeEventTopics({
    abi: carbonTokenAbi,
    eventName: 'CreditsRetired',
    args: { retiredBy: `0x${'d'.repeat(40)}` },
  }),
  data: encodeAbiParameters(
    [{ type: 'uint256' }, { type: 'string' }, { type: 'uint256' }, { type: 'uint256' }],
    [1n, 'A very long name', index, 1n],
  ),
  blockNumber: BLOCK.number,
  blockHash: BLOCK.hash,
  transactionHash: hintOf(Number(index)),
});

const RESULTS: Record<string, unknown> = { eth_getTransactionReceipt: RECEIPT, eth_getBlockByNumber: BLOCK };

interface Search {
  count?: number;
  /** The records whose events the search by time finds. */
  logged?: readonly bigint[];
}

function search(
  askEach: (questions: readonly Question<unknown>[]) => Promise<unknown>,
  { count = 1, logged = [] }: Search = {},
) {
  const ask = async ({ method, read }: Question<unknown>) => read(RESULTS[method]);
  const finality = {
    onFinalBlock: (work: (pin: unknown) => unknown) => work({ final: { number: 1n }, rewritten: null }),
  };
  return retirementTransactions(
    { rpc: { ask, askEach }, finality, search: async () => logged.map(logOf), firstBlock: 0n } as never,
    `0x${'c'.repeat(40)}`,
    Array.from({ length: count }, (_, index) => ({ index, timestamp: 1n, hints: [hintOf(index)] })),
  );
}

/** Asks for a record that the search by time does not find. The node fails each `failing` question. */
function find(failing: string, problem: { code: number; message: string }) {
  const askEach = async (questions: readonly Question<unknown>[]) =>
    questions.map(({ method, read }) =>
      method === failing ? { error: new RpcError(method, problem) } : { value: read(RESULTS[method]) },
    );
  return search(askEach);
}

it.each(Object.keys(RESULTS))('are asked about again when the node was too busy for %s', async (method) => {
  await expect(find(method, { code: -32005, message: 'rate limit exceeded' })).rejects.toThrow('rate limit');
});

it('are of no use where the node has no such history any more', async () => {
  const problem = { code: 4444, message: 'pruned history unavailable' };
  expect(await find('eth_getTransactionReceipt', problem)).toEqual(new Map());
});

it.each([
  ['of another chain', { blockHash: `0x${'e'.repeat(64)}` }],
  ['in a block that is not final', { blockNumber: '0x2' }],
])('prove nothing by a receipt %s', async (_, changes) => {
  const found = await search(async (questions) =>
    questions.map(({ method, read }) => {
      const isReceipt = method === 'eth_getTransactionReceipt';
      return { value: read(isReceipt ? { ...RECEIPT, logs: [logOf(0n)], ...changes } : RESULTS[method]) };
    }),
  );
  expect(found).toEqual(new Map());
});

/** Fails while the receipts asked for are too long together, and has a record in each receipt. */
function answerUnless(isTooLong: (hashes: readonly unknown[]) => boolean) {
  return async (questions: readonly Question<unknown>[]) => {
    const receipts = questions.filter(({ method }) => method === 'eth_getTransactionReceipt');
    if (isTooLong(receipts.map(({ params }) => params[0]))) {
      throw new NetworkUnavailable('too long', { cause: new AnswerTooLong('it is too long') });
    }
    return questions.map(({ method, params, read }) => {
      if (method !== 'eth_getTransactionReceipt') return { value: read(RESULTS[method]) };
      const [hash] = params as [string];
      const logs = [logOf(BigInt(hash.at(-1) ?? 0))];
      return { value: read({ ...RECEIPT, transactionHash: hash, logs }) };
    });
  };
}

it('are looked at one after another where what they name is too long for one answer', async () => {
  const found = await search(
    answerUnless((hashes) => hashes.length > 1),
    { count: 3 },
  );
  expect([...found]).toEqual([0, 1, 2].map((index) => [index, hintOf(index)]));
});

it('are of no use where one alone is too long, and the record is found by its time', async () => {
  const answer = answerUnless((hashes) => hashes.includes(hintOf(1)));
  const found = await search(answer, { count: 3, logged: [1n] });
  expect(new Map(found)).toEqual(new Map([0, 1, 2].map((index) => [index, hintOf(index)])));
});
