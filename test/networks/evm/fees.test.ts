/**
 * The cost of writes on an EVM chain: market fees under a cap, and higher fees for stuck transactions.
 */
import { encodeFunctionData, parseAbi, parseTransaction } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { TONNE, deployCarbon, mintedCarbon, prepare, retire } from '../../../devnet/calls.ts';
import { GWEI, startEvmTestbed } from '../../support/evm/testbed.ts';
import type { EvmTestbed } from '../../support/evm/testbed.ts';

const CAP = 100n * GWEI;
const PATIENCE_BLOCKS = 3;
const factoryOwnerAbi = parseAbi(['function setDeploymentFee(uint256 fee)']);

let testbed: EvmTestbed;
let network: EvmNetwork;
let token: string;

beforeAll(async () => {
  testbed = await startEvmTestbed();
  network = await testbed.open({ maxFeePerGasCap: CAP });
  token = await mintedCarbon(network, 1000n);
  await testbed.anvil.rpc('evm_setAutomine', [false]);
});
afterAll(() => testbed.close());
afterEach(async () => {
  testbed.faulty.obey();
  await minedAt(GWEI, 1);
});

/** Closes blocks with this base fee, which leave out transactions that offer less. */
async function minedAt(baseFee: bigint, blocks: number): Promise<void> {
  for (let left = blocks; left > 0; left--) {
    await testbed.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFee.toString(16)}`]);
    await testbed.anvil.mine(1);
  }
}

function feesOf({ signedBytes }: PreparedTransaction): { max: bigint; tip: bigint } {
  const parsed = parseTransaction(`0x${Buffer.from(signedBytes).toString('hex')}`);
  return { max: parsed.maxFeePerGas ?? 0n, tip: parsed.maxPriorityFeePerGas ?? 0n };
}

/** Sends a transaction while blocks are cheap, then closes dearer blocks. */
async function stuck(baseFee: bigint): Promise<PreparedTransaction> {
  const prepared = await prepare(network, retire(token, TONNE));
  expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  await minedAt(baseFee, PATIENCE_BLOCKS);
  expect(await network.outcome(prepared)).toEqual({ status: 'pending' });
  return prepared;
}

describe('fees of a draft', () => {
  it('follow the market, and end at the cap', async () => {
    await minedAt(10n * GWEI, 1);
    const usual = feesOf(await prepare(network, retire(token, TONNE)));
    expect(usual.max).toBeGreaterThan(10n * GWEI);
    expect(usual.max).toBeLessThanOrEqual(CAP);
    expect(usual.tip).toBe(GWEI);
    await minedAt(90n * GWEI, 1);
    expect(feesOf(await prepare(network, retire(token, TONNE))).max).toBe(CAP);
  });

  it('wait while the network is dearer than the cap', async () => {
    await minedAt(CAP + 50n * GWEI, 1);
    await expect(network.draft(retire(token, TONNE))).rejects.toThrow(NetworkUnavailable);
    await minedAt(GWEI, 1);
    await prepare(network, retire(token, TONNE));
  });

  it('have a customary tip where the node can’t be asked for one, and none while it only fails to answer', async () => {
    const answers = (code: number, message: string) =>
      testbed.faulty.obey(({ method }) =>
        method === 'eth_maxPriorityFeePerGas' ? { error: { code, message } } : undefined,
      );
    answers(-32005, 'too many requests');
    await expect(prepare(network, retire(token, TONNE))).rejects.toThrow('too many requests');
    for (const [code, message] of [
      [-32601, 'no'],
      [-32600, 'Unsupported method: eth_maxPriorityFeePerGas'],
    ] as const) {
      answers(code, message);
      expect(feesOf(await prepare(network, retire(token, TONNE))).tip).toBe(GWEI);
    }
  });

  it('are for no more gas than a block has', async () => {
    const gasOf = async () => {
      const { signedBytes } = await prepare(network, retire(token, TONNE));
      return parseTransaction(`0x${Buffer.from(signedBytes).toString('hex')}`).gas ?? 0n;
    };
    const least = (await gasOf()) - 1n;
    const hold = async (gas: bigint) => {
      await testbed.anvil.rpc('evm_setBlockGasLimit', [`0x${gas.toString(16)}`]);
      await minedAt(GWEI, 1);
    };
    await hold(least);
    try {
      expect(await gasOf()).toBe(least);
    } finally {
      await hold(30_000_000n);
    }
  });

  it('are asked of a signer that has them', async () => {
    const poor = await testbed.open({ secretKey: `0x${'11'.repeat(32)}` });
    await expect(poor.draft({ kind: 'setAllowance', tokenAddress: token, amount: 1n })).rejects.toThrow(
      /fund it/,
    );
  });

  it('come with the factory’s own fee where it asks for one', async () => {
    const { factoryAddress } = testbed.contracts;
    const setFee = async (wei: bigint) => {
      await testbed.anvil.rpc('eth_sendTransaction', [
        {
          from: testbed.deployer.address,
          to: factoryAddress,
          data: encodeFunctionData({ abi: factoryOwnerAbi, args: [wei] }),
        },
      ]);
      await testbed.anvil.mine(1);
    };
    await setFee(5n * 10n ** 15n);
    const prepared = await prepare(network, deployCarbon());
    const { value } = parseTransaction(`0x${Buffer.from(prepared.signedBytes).toString('hex')}`);
    expect(value).toBe(5n * 10n ** 15n);
    await network.broadcast(prepared.signedBytes);
    await testbed.anvil.mine(1);
    expect(await network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    await setFee(0n);
  });
});

describe('replacing', () => {
  it('takes the same slot at a higher fee, and one of both lands', async () => {
    const first = await stuck(60n * GWEI);
    const second = await network.replace(first);
    if (!second) throw new Error('It was not replace');
    expect([second.source, second.sequence]).toEqual([first.source, first.sequence]);
    expect(second.hash).not.toBe(first.hash);
    // Bytes of another slot would take that one from its call.
    expect(await network.replace({ ...first, sequence: (first.sequence ?? 0n) + 1n })).toBeNull();
    expect(feesOf(second).max).toBeGreaterThan(60n * GWEI);
    expect(feesOf(second).max * 8n).toBeGreaterThanOrEqual(feesOf(first).max * 9n);
    expect(feesOf(second).tip * 8n).toBeGreaterThanOrEqual(feesOf(first).tip * 9n);
    expect(feesOf(second).max).toBeLessThanOrEqual(CAP);
    // A second replacement does not follow at once.
    expect(await network.replace(second)).toBeNull();

    const { totalRetirements } = await network.carbonTotals(token);
    expect(await network.broadcast(second.signedBytes)).toEqual({ status: 'accepted' });
    await minedAt(60n * GWEI, 1);
    expect(await network.outcome(second)).toMatchObject({ status: 'succeeded' });
    expect(await network.outcome(first)).toMatchObject({ status: 'dead' });
    expect((await network.carbonTotals(token)).totalRetirements).toBe(totalRetirements + 1);
    expect(await network.replace(second)).toBeNull();
  });

  it('goes up to the cap, and then waits', async () => {
    let latest = await stuck(200n * GWEI);
    // Above the cap a replacement would gain nothing.
    expect(await network.replace(latest)).toBeNull();
    await minedAt(95n * GWEI, 1);
    const highest = await network.replace(latest);
    if (!highest) throw new Error('It was not replace');
    expect(feesOf(highest).max).toBe(CAP);
    latest = highest;
    expect(await network.broadcast(latest.signedBytes)).toEqual({ status: 'accepted' });
    await minedAt(CAP + GWEI, PATIENCE_BLOCKS);
    expect(await network.replace(latest)).toBeNull();
    // The node forgot the transaction that it could not include; the same bytes are sent until they land.
    await network.broadcast(latest.signedBytes);
    await minedAt(50n * GWEI, 1);
    expect(await network.outcome(latest)).toMatchObject({ status: 'succeeded' });
  });

  it('is patient, and lets alone what is well paid', async () => {
    const prepared = await prepare(network, retire(token, TONNE));
    await network.broadcast(prepared.signedBytes);
    await testbed.anvil.rpc('anvil_dropTransaction', [prepared.hash]);
    await minedAt(GWEI, PATIENCE_BLOCKS - 1);
    expect(await network.replace(prepared)).toBeNull();
    await minedAt(GWEI, PATIENCE_BLOCKS);
    expect(await network.replace(prepared)).toBeNull();
    await network.broadcast(prepared.signedBytes);
    await minedAt(GWEI, 1);
    expect(await network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
  });

  it('helps what a node will not take for its fee', async () => {
    const prepared = await prepare(network, retire(token, TONNE));
    await minedAt(GWEI, PATIENCE_BLOCKS);
    testbed.faulty.obey(({ method, params }) =>
      method === 'eth_sendRawTransaction' &&
      params[0] === `0x${Buffer.from(prepared.signedBytes).toString('hex')}`
        ? { error: { code: -32000, message: 'transaction underpriced' } }
        : undefined,
    );
    expect(await network.broadcast(prepared.signedBytes)).toMatchObject({ status: 'refused' });
    const higher = await network.replace(prepared);
    if (!higher) throw new Error('It was not replace');
    expect(await network.broadcast(higher.signedBytes)).toEqual({ status: 'accepted' });
    await minedAt(GWEI, 1);
    expect(await network.outcome(higher)).toMatchObject({ status: 'succeeded' });
  });

  it('signs nothing that its payer could not pay, where the first can be paid', async () => {
    const first = await stuck(60n * GWEI);
    const { gas = 0n } = parseTransaction(`0x${Buffer.from(first.signedBytes).toString('hex')}`);
    const own = await testbed.anvil.rpc('eth_getBalance', [first.source, 'latest']);
    const holds = (wei: unknown) => testbed.anvil.rpc('anvil_setBalance', [first.source, wei]);
    await holds(`0x${(gas * feesOf(first).max).toString(16)}`);
    expect(await network.replace(first)).toBeNull();
    await holds(own);
    expect(await network.replace(first)).not.toBeNull();
    const status = async () => {
      // The node may have forgotten the transaction.
      await network.broadcast(first.signedBytes);
      await minedAt(GWEI, 1);
      return (await network.outcome(first)).status;
    };
    await expect.poll(status).toBe('succeeded');
  });

  it('is not for others’ transactions', async () => {
    const other = await testbed.open({ secretKey: testbed.stranger.secretKey });
    const theirs = await prepare(other, { kind: 'setAllowance', tokenAddress: token, amount: 1n });
    await minedAt(60n * GWEI, PATIENCE_BLOCKS);
    expect(await network.replace(theirs)).toBeNull();
  });
});
