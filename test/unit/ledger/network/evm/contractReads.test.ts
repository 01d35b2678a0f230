/**
 * Reads of many contracts when a node can't answer about one of them.
 */
import { encodeFunctionResult, type Hex } from 'viem';
import { expect, it } from 'vitest';
import { createReadAll, type ContractRead } from '../../../../../src/ledger/network/evm/contractReads.ts';
import { MULTICALL3_ADDRESS, multicallAbi } from '../../../../../src/ledger/network/evm/contracts.ts';
import type { Pin } from '../../../../../src/ledger/network/evm/finality.ts';
import { RpcError, type JsonRpc } from '../../../../../src/ledger/network/evm/jsonRpc.ts';

const WORD: Hex = `0x${'07'.padStart(64, '0')}`;
const pin = { final: { number: 1n }, state: 'latest' } as unknown as Pin;
const reads = ['0', '1', '2'].map((digit): ContractRead => ({
  target: `0x${digit.repeat(40)}`,
  data: '0x01',
}));

/** A chain whose multicall succeeds as `results` say, and whose single calls fail. */
function readAllOf(results: readonly boolean[]) {
  const result = results.map((success) => ({ success, returnData: success ? WORD : '0x' }));
  const aggregated = encodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', result });
  const failed = { error: new RpcError('eth_call', { code: -32_005, message: 'limit exceeded' }) };
  const rpc = {
    ask: async () => '0x60',
    askEach: async (questions: readonly { params: readonly unknown[] }[]) =>
      questions.map(({ params }) =>
        JSON.stringify(params).includes(MULTICALL3_ADDRESS) ? { value: aggregated } : failed,
      ),
  } as unknown as JsonRpc;
  return createReadAll(rpc);
}

it('keeps the answers of the others', async () => {
  const answers = await readAllOf([true, false, true])(pin, reads);
  expect(answers.map(({ kind }) => kind)).toEqual(['returned', 'failed', 'returned']);
});

it('takes no answer that lacks a read for the others’ answers', async () => {
  await expect(readAllOf([true, true])(pin, reads)).rejects.toThrow('limit exceeded');
});

it('says that the node has answered none', async () => {
  await expect(readAllOf([false, false, false])(pin, reads)).rejects.toThrow('limit exceeded');
});
