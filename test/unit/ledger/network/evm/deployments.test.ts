/**
 * Where the settlement contract does not show its treasury, the factory's event names it, however far back that is.
 */
import { encodeAbiParameters, encodeEventTopics, getAddress } from 'viem';
import type { Hex } from 'viem';
import { expect, it } from 'vitest';
import { settlementFactoryAbi } from '../../../../../src/ledger/network/evm/contracts.ts';
import { createDeployments } from '../../../../../src/ledger/network/evm/deployments.ts';
import type { Pin } from '../../../../../src/ledger/network/evm/finality.ts';
import { RpcError } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import type { Answer, Question } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { NetworkUnavailable } from '../../../../../src/ledger/network/port.ts';

const addressOf = (digit: string) => getAddress(`0x${digit.repeat(40)}`);
const [FACTORY, SETTLEMENT, TREASURY, OTHER] = ['f', '5', '7', '1'].map(addressOf) as [Hex, Hex, Hex, Hex];
const hashOf = (digit: string): Hex => `0x${digit.repeat(64)}`;
const quantityOf = (number: number): Hex => `0x${number.toString(16)}`;

const deployedIn = (block: number) => ({
  address: FACTORY,
  topics: encodeEventTopics({
    abi: settlementFactoryAbi,
    eventName: 'RampSettlementDeployed',
    args: { settlementAddress: SETTLEMENT, deployer: OTHER },
  }),
  data: encodeAbiParameters(
    [{ type: 'address' }, { type: 'address' }, { type: 'uint256' }],
    [OTHER, TREASURY, 1n],
  ),
  blockNumber: quantityOf(block),
  blockHash: hashOf('b'),
  transactionHash: hashOf('c'),
});

/** A node that shows the events of one block at a time. */
function answer(block: number, { method, params, read }: Question<unknown>): Answer<unknown> {
  if (method === 'eth_getBlockByNumber') return { value: { number: params[0] } };
  const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
  if (fromBlock !== toBlock) {
    return { error: new RpcError(method, { code: -32005, message: 'limit exceeded' }) };
  }
  return { value: read(fromBlock === quantityOf(block) ? [deployedIn(block)] : []) };
}

const pinAt = (number: bigint) => ({ final: { number } }) as Pin;

it('is found in the end, when the search takes more questions than one may have', async () => {
  const deployments = createDeployments({
    rpc: {
      askTogether: async (all: Question<unknown>[]) => all.map((one) => answer(2_500, one)),
    } as never,
    contracts: { factory: FACTORY, settlementFactory: FACTORY, settlement: SETTLEMENT, errors: [] },
    custodyAddress: OTHER,
    firstBlock: 0n,
  });
  const treasury = () => deployments.treasuryOf(SETTLEMENT, pinAt(3_000n));
  await expect(treasury()).rejects.toThrow(NetworkUnavailable);
  await expect(treasury()).rejects.toThrow('set LEDGER_FIRST_BLOCK');
  expect(await treasury()).toBe(TREASURY);
  expect(await treasury()).toBe(TREASURY);
});
