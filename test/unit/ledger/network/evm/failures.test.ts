/**
 * What a transaction means that landed and was reverted.
 */
import { encodeFunctionData, parseAbi, zeroAddress, zeroHash } from 'viem';
import type { Hex } from 'viem';
import { expect, it } from 'vitest';
import { settlementFactoryAbi } from '../../../../../src/ledger/network/evm/contracts.ts';
import { outcomeOfRevert } from '../../../../../src/ledger/network/evm/failures.ts';
import { RpcError } from '../../../../../src/ledger/network/evm/jsonRpc.ts';

const CONTRACT = `0x${'5'.repeat(40)}` as const;
const WORD = `0x${'5'.padStart(64, '0')}`;
const reverted = { error: new RpcError('eth_call', { code: 3, message: 'execution reverted', data: '0x' }) };
const token = parseAbi(['function mint(address, uint256)']);
const mint = encodeFunctionData({ abi: token, functionName: 'mint', args: [CONTRACT, 1n] });
const deploy = encodeFunctionData({
  abi: settlementFactoryAbi,
  functionName: 'deployRampSettlement',
  args: [CONTRACT, zeroAddress],
});

/** @param fee what the contract answers to any function that it does not know */
function outcomeOf(input: Hex, fee: string) {
  const rpc = { askTogether: async () => [{ value: fee }] };
  const finality = { askTogether: async () => [reverted, reverted] };
  return outcomeOfRevert(
    { rpc, finality, contracts: { errors: [] } } as never,
    {} as never,
    { blockNumber: 9n, gasUsed: 50n, transactionHash: zeroHash } as never,
    { from: CONTRACT, to: CONTRACT, input, value: 0n, gas: 100n } as never,
  );
}

it.each([
  ['a number', WORD],
  ['less than a number', '0x1234'],
])('refuses a mint, though the token answers a question for a fee with %s', async (_, fee) => {
  expect(await outcomeOf(mint, fee)).toMatchObject({ status: 'refused', refusal: { reason: 'OTHER' } });
});

it('signs a deployment again whose fee is another', async () => {
  expect(await outcomeOf(deploy, WORD)).toMatchObject({ status: 'dead', cause: 'another deployment fee' });
});
