/**
 * Hints about a record's transaction: a hint that the node failed to look up does not count as examined.
 */
import { expect, it } from 'vitest';
import { RpcError } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import type { Question } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { retirementTransactions } from '../../../../../src/ledger/network/evm/retirementTransactions.ts';

const BLOCK = {
  number: '0x1',
  hash: `0x${'b'.repeat(64)}`,
  timestamp: '0x1',
  gasLimit: '0x1',
};
const HINT = `0x${'a'.repeat(64)}`;
const RECEIPT = {
  transactionHash: HINT,
  blockHash: BLOCK.hash,
  blockNumber: BLOCK.number,
  status: '0x1',
  gasUsed: '0x1',
  logs: [],
};
const RESULTS: Record<string, unknown> = { eth_getTransactionReceipt: RECEIPT, eth_getBlockByNumber: BLOCK };

/** Asks for a record that the search by time does not find. The node fails each `failing` question. */
function find(failing: string, problem: { code: number; message: string }) {
  const askEach = async (questions: readonly Question<unknown>[]) =>
    questions.map(({ method, read }) =>
      method === failing ? { error: new RpcError(method, problem) } : { value: read(RESULTS[method]) },
    );
  const ask = async ({ method, read }: Question<unknown>) => read(RESULTS[method]);
  const finality = {
    onFinalBlock: (work: (pin: unknown) => unknown) => work({ final: { number: 1n }, rewritten: null }),
  };
  return retirementTransactions(
    { rpc: { ask, askEach }, finality, search: async () => [], firstBlock: 0n } as never,
    `0x${'c'.repeat(40)}`,
    [{ index: 0, timestamp: 1n, hints: [HINT] }],
  );
}

it.each(Object.keys(RESULTS))('are asked about again when the node was too busy for %s', async (method) => {
  await expect(find(method, { code: -32005, message: 'rate limit exceeded' })).rejects.toThrow('rate limit');
});

it('are of no use where the node has no such history any more', async () => {
  const problem = { code: 4444, message: 'pruned history unavailable' };
  expect(await find('eth_getTransactionReceipt', problem)).toEqual(new Map());
});
