/**
 * What a landed call has done, by the events of the contract that it called.
 */
import { encodeAbiParameters, encodeEventTopics, encodeFunctionData, type Hex } from 'viem';
import { expect, it } from 'vitest';
import { TRIAL_DEPLOY } from '../../../../../src/ledger/network/check.ts';
import { encodeCall } from '../../../../../src/ledger/network/evm/calls.ts';
import {
  carbonTokenAbi,
  factoryAbi,
  settlementFactoryAbi,
} from '../../../../../src/ledger/network/evm/contracts.ts';
import type { Receipt, Transaction } from '../../../../../src/ledger/network/evm/node.ts';
import { resultOf } from '../../../../../src/ledger/network/evm/results.ts';

const [CUSTODY, CALLED, TOKEN] = ['1', '2', '3'].map((digit): Hex => `0x${digit.repeat(40)}`) as [
  Hex,
  Hex,
  Hex,
];

const result = (input: Hex, events: readonly { topics: unknown; data: Hex }[]) =>
  resultOf(
    { from: CUSTODY, to: CALLED, input } as Transaction,
    {
      logs: events.map((event) => ({ address: CALLED, ...event })),
    } as Receipt,
  );

it('is a token also of a factory that is not the configured one any more', () => {
  const contracts = { factory: CALLED, settlementFactory: null, settlement: null, errors: [] };
  const { data: input } = encodeCall(contracts, CUSTODY, TRIAL_DEPLOY);
  const args = { template: 4, tokenAddress: TOKEN, deployer: CUSTODY };
  const event = {
    topics: encodeEventTopics({ abi: factoryAbi, eventName: 'TokenDeployed', args }),
    data: encodeAbiParameters(
      [{ type: 'bytes32' }, { type: 'string' }, { type: 'uint256' }],
      [`0x${'a'.repeat(64)}`, 'ID', 1n],
    ),
  };
  expect(result(input, [event])).toEqual({ kind: 'deployed', contractAddress: TOKEN });
  expect(result(input, [event, event])).toBeNull();
  expect(result(input, [])).toBeNull();
  const deploySettlement = encodeFunctionData({
    abi: settlementFactoryAbi,
    functionName: 'deployRampSettlement',
    args: [CUSTODY, CUSTODY],
  });
  // A token is no settlement contract.
  expect(result(deploySettlement, [event])).toBeNull();
});

it('is no record where a token logs two for one burn', () => {
  const input = encodeFunctionData({
    abi: carbonTokenAbi,
    functionName: 'retire',
    args: [1n, 'Acme', 'a note'],
  });
  const retired = (index: bigint) => ({
    topics: encodeEventTopics({
      abi: carbonTokenAbi,
      eventName: 'CreditsRetired',
      args: { retiredBy: CUSTODY },
    }),
    data: encodeAbiParameters(
      [{ type: 'uint256' }, { type: 'string' }, { type: 'uint256' }, { type: 'uint256' }],
      [1n, 'Acme', index, 1n],
    ),
  });
  expect(result(input, [retired(7n)])).toEqual({ kind: 'retired', retirementIndex: 7 });
  expect(result(input, [retired(7n), retired(8n)])).toBeNull();
});
