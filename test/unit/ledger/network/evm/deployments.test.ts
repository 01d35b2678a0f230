/**
 * The events of the factories: they show custody's own tokens, and the treasury when the settlement contract
 * does not show it.
 */
import { encodeAbiParameters, encodeEventTopics, getAddress } from 'viem';
import type { Hex } from 'viem';
import { expect, it } from 'vitest';
import {
  factoryAbi,
  settlementFactoryAbi,
  TEMPLATE_NUMBERS,
} from '../../../../../src/ledger/network/evm/contracts.ts';
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

const tokenDeployed = (
  tokenAddress: Hex,
  asset: Hex,
  template: number = TEMPLATE_NUMBERS['carbon-credit'],
) => ({
  ...deployedIn(100),
  topics: encodeEventTopics({
    abi: factoryAbi,
    eventName: 'TokenDeployed',
    args: { template, tokenAddress, deployer: OTHER },
  }),
  data: encodeAbiParameters(
    [{ type: 'bytes32' }, { type: 'string' }, { type: 'uint256' }],
    [asset, 'ID', 1n],
  ),
});

const pinAt = (number: bigint) => ({ final: { number } }) as Pin;

const deploymentsAt = (rpc: Record<string, unknown>) =>
  createDeployments({
    rpc: rpc as never,
    contracts: { factory: FACTORY, settlementFactory: FACTORY, settlement: SETTLEMENT, errors: [] },
    custodyAddress: OTHER,
    firstBlock: 0n,
  });

it('finds a treasury in the end, when the search takes more questions than one may have', async () => {
  const deployments = deploymentsAt({
    askTogether: async (all: Question<unknown>[]) => all.map((one) => answer(2_500, one)),
  });
  const treasury = () => deployments.treasuryInUse(pinAt(3_000n));
  await expect(treasury()).rejects.toThrow(NetworkUnavailable);
  await expect(treasury()).rejects.toThrow('set LEDGER_FIRST_BLOCK');
  expect(await treasury()).toBe(TREASURY);
  expect(await treasury()).toBe(TREASURY);
});

it('finds the first token of an asset, and none of a template that is not used here', async () => {
  const [ASSET, ANOTHER_TEMPLATE] = [hashOf('a'), 2];
  const logs = [
    tokenDeployed(addressOf('6'), ASSET, ANOTHER_TEMPLATE),
    tokenDeployed(addressOf('8'), ASSET),
    tokenDeployed(addressOf('9'), ASSET),
  ];
  const deployments = deploymentsAt({
    ask: async () => ({ number: 100n, hash: hashOf('b') }),
    askTogether: async ([of]: Question<unknown>[]) => [{ value: of?.read(logs) }, { value: { number: 1n } }],
  });
  const token = await deployments.ownTokenOf(ASSET, pinAt(200n));
  expect(token?.tokenAddress).toBe(addressOf('8'));
});

it('forgets no token of custody while another call doubts what was read, and fails to read it again', async () => {
  const [TOKEN, ASSET] = [addressOf('8'), hashOf('a')];
  const token = tokenDeployed(TOKEN, ASSET);
  const ANOTHER_BLOCK = hashOf('e');
  let ofBlock100 = hashOf('b');
  let isFailing = false;
  let held: Promise<void> | null = null;
  const logsOf = async ({ params, read }: Question<unknown>): Promise<Answer<unknown>> => {
    const [{ fromBlock }] = params as [{ fromBlock: Hex }];
    const isHeld = held;
    held = null;
    await isHeld;
    if (isFailing) throw new NetworkUnavailable('away');
    return { value: read(Number(fromBlock) <= 100 ? [token] : []) };
  };
  const blockOf = ({ params, read }: Question<unknown>) =>
    read({ number: params[0], hash: ofBlock100, timestamp: '0x1', gasLimit: '0x1' });
  const deployments = deploymentsAt({
    ask: async (one: Question<unknown>) => {
      if (one.method === 'eth_getLogs') throw new NetworkUnavailable('away');
      // The node answers the reading before the doubt, and fails the reading after it.
      isFailing = ofBlock100 === ANOTHER_BLOCK;
      return blockOf(one);
    },
    askTogether: async ([logs, block]: [Question<unknown>, Question<unknown>]) => [
      await logsOf(logs),
      { value: blockOf(block) },
    ],
  });
  const tokenOf = (asset: Hex, upTo: bigint) => deployments.ownTokenOf(asset, pinAt(upTo));
  expect(await tokenOf(ASSET, 1_000n)).toMatchObject({ tokenAddress: TOKEN.toLowerCase() });

  let release = () => {};
  held = new Promise((resolve) => (release = resolve));
  const ofAnother = tokenOf(hashOf('d'), 1_010n);
  ofBlock100 = ANOTHER_BLOCK;
  await expect(tokenOf(ASSET, 1_010n)).rejects.toThrow('away');
  ofBlock100 = hashOf('b');
  isFailing = false;
  release();
  expect(await ofAnother).toBeNull();
  expect(await tokenOf(ASSET, 1_010n)).toMatchObject({ tokenAddress: TOKEN.toLowerCase() });
});
