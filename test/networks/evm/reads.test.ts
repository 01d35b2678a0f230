/**
 * Reading contracts on an EVM chain: many at once at one final block, with and without a multicall contract,
 * and despite contracts and nodes that would break the read.
 */
import { randomUUID } from 'node:crypto';
import { encodeErrorResult, encodeFunctionData, parseAbi } from 'viem';
import type { Address, Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkEvmNetwork } from '../../../src/ledger/network/evm/checks.ts';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import type { EvmNetworkOptions } from '../../../src/ledger/network/evm/options.ts';
import { MULTICALL3_ADDRESS } from '../../../src/ledger/network/evm/contracts.ts';
import { MAX_TOKENS_PER_READ, NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import {
  TONNE,
  deploy,
  deployCarbon,
  deployReceipt,
  land,
  landAll,
  mintedCarbon,
  refusalOf,
  retire,
} from '../../../devnet/calls.ts';
import { deployContracts } from '../../../devnet/evm/deploy.ts';
import { landTransaction } from '../../../devnet/evm/landTransaction.ts';
import { EVM_LIMITS, GWEI, startEvmTestbed } from '../../support/evm/testbed.ts';
import type { EvmTestbed } from '../../support/evm/testbed.ts';

const errorAbi = parseAbi(['error Error(string)']);
const pausableAbi = parseAbi(['function pause()', 'function unpause()']);

let testbed: EvmTestbed;
let network: EvmNetwork;

beforeAll(async () => {
  testbed = await startEvmTestbed();
  // No more transactions than fit into a block.
  network = await testbed.open({ maxOpenPerAccount: 20 });
});
afterAll(() => testbed.close());
beforeEach(() => testbed.faulty.obey());

/** Bytecode of contracts that answer every call in one bad way. */
const BAD_CONTRACTS = {
  /** Loops until the gas is used up. */
  gasBurner: '0x5b600056',
  /** Reverts without a reason. */
  silent: '0x60006000fd',
  /** Returns a single byte. */
  garbage: '0x600160005360016000f3',
  /** Returns a word with every bit set: no boolean, no count. */
  overfull: '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff60005260206000f3',
  /** Returns half a megabyte. */
  endless: '0x620800006000f3',
} as const satisfies Record<string, Hex>;

async function placeBadContracts(): Promise<Address[]> {
  const names = Object.keys(BAD_CONTRACTS) as (keyof typeof BAD_CONTRACTS)[];
  const addresses = names.map((_, at): Address => `0x${'bad0'.repeat(9)}000${at + 1}`);
  for (const [at, name] of names.entries()) {
    await testbed.anvil.rpc('anvil_setCode', [addresses[at], BAD_CONTRACTS[name]]);
  }
  await testbed.anvil.mine(1);
  return addresses.map((address) => network.normalizeAddress(address) as Address);
}

async function pause(contract: string, paused: boolean): Promise<void> {
  const data = encodeFunctionData({ abi: pausableAbi, functionName: paused ? 'pause' : 'unpause' });
  const from = testbed.custody.address;
  await landTransaction(testbed.anvil, { from, to: contract, data });
}

/** One token for all its readers, because each record takes a transaction. */
let longRecords: Promise<string> | null = null;
const LONG_NOTE = 'ñ'.repeat(512);
/** For hangs alone: two hundred transactions in blocks of twenty take a busy machine more than a minute. */
const LANDING_TIMEOUT_MS = 240_000;

async function retireLong(): Promise<string> {
  const token = await mintedCarbon(network, 1000n);
  const calls = Array.from({ length: 203 }, () => retire(token, TONNE, LONG_NOTE));
  // A transaction that arrives while this node makes a block may stay out of the next one until a block is
  // requested.
  const mining = setInterval(() => void testbed.anvil.mine(1), 1_000);
  try {
    await landAll([network], calls);
  } finally {
    clearInterval(mining);
  }
  return token;
}

async function placeMulticall(code: unknown): Promise<void> {
  await testbed.anvil.rpc('anvil_setCode', [MULTICALL3_ADDRESS, code]);
  await testbed.anvil.mine(1);
}

describeBulkReads('with multicall');

describe('where there is no multicall', () => {
  let code: unknown;
  beforeAll(async () => {
    code = await testbed.anvil.rpc('eth_getCode', [MULTICALL3_ADDRESS, 'latest']);
    await placeMulticall('0x');
    expect(await testbed.anvil.rpc('eth_getCode', [MULTICALL3_ADDRESS, 'latest'])).toBe('0x');
  });
  afterAll(() => placeMulticall(code));

  describeBulkReads('without multicall');
});

function describeBulkReads(name: string): void {
  describe(`bulk reads ${name}`, () => {
    it('asks 200 tokens in a few questions, and none spoils the others', async () => {
      const bad = await placeBadContracts();
      const carbon = await mintedCarbon(network, 2n);
      await land(network, retire(carbon, TONNE));
      const receipt = await deploy(network, deployReceipt(1n));
      const emptyAccount = privateKeyToAccount(`0x${'22'.repeat(32)}`).address;
      const rest = MAX_TOKENS_PER_READ - bad.length - 2;
      const reader = await testbed.open();
      testbed.faulty.questions.length = 0;
      testbed.faulty.batchSizes.length = 0;

      const counts = await reader.retirementCountsOf([
        ...bad,
        emptyAccount,
        receipt,
        ...Array.from({ length: rest }, () => carbon),
      ]);
      // A contract that the node can't execute to its end may be anything; the others are no tokens.
      expect(counts[0]).toMatchObject({ tokenAddress: bad[0], error: { name: 'NetworkUnavailable' } });
      for (const answer of counts.slice(1, bad.length + 1)) {
        expect(answer).toMatchObject({ error: { reason: 'CONTRACT_NOT_FOUND' } });
      }
      expect(counts[bad.length + 1]).toMatchObject({ error: { reason: 'WRONG_TEMPLATE' } });
      const good = counts.slice(bad.length + 2);
      expect(good).toEqual(good.map(() => ({ tokenAddress: carbon, totalRetirements: 1 })));

      const expiries = await reader.expiryOf([
        ...bad,
        carbon,
        ...Array.from({ length: rest }, () => receipt),
      ]);
      for (const answer of expiries.slice(0, bad.length)) expect(answer).toHaveProperty('error');
      expect(expiries[bad.length]).toMatchObject({ error: { reason: 'WRONG_TEMPLATE' } });
      const due = expiries.slice(bad.length + 1);
      expect(due).toEqual(due.map(() => ({ tokenAddress: receipt, isExpired: true, status: 'DRAFT' })));
      expect(Math.max(...testbed.faulty.batchSizes)).toBeLessThanOrEqual(50);
    });

    it(
      'reads a full page of records with the longest texts, of one moment',
      async () => {
        const token = await (longRecords ??= retireLong());
        const reader = await testbed.open();
        const page = await reader.retirementRecords(token, 0, 200);
        expect(page.totals.totalRetirements).toBe(203);
        expect(page.records.map(({ index }) => index)).toEqual(Array.from({ length: 200 }, (_, at) => at));
        expect(new Set(page.records.map((record) => record.note))).toEqual(new Set([LONG_NOTE]));
        const { records } = await reader.retirementRecords(token, 200, 200);
        expect(records.map(({ index }) => index)).toEqual([200, 201, 202]);
      },
      LANDING_TIMEOUT_MS,
    );
  });
}

describe('few questions', () => {
  it('are all that a node with a multicall contract is asked for 200 tokens', async () => {
    const token = await mintedCarbon(network, 1n);
    const reader = await testbed.open();
    await reader.retirementCountsOf([token, token]);
    testbed.faulty.batchSizes.length = 0;
    await reader.retirementCountsOf(Array.from({ length: 200 }, () => token));
    expect(testbed.faulty.batchSizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(4);
  });
});

describe('a block that vanishes', () => {
  it('is replaced by the next final one, once', async () => {
    const token = await mintedCarbon(network, 1n);
    const notCanonical = { error: { code: -32000, message: 'hash is not currently canonical' } };
    let failures = 1;
    testbed.faulty.obey(({ method }) => (method === 'eth_call' && failures-- > 0 ? notCanonical : undefined));
    expect((await network.carbonTotals(token)).totalSupply).toBe(TONNE);
    testbed.faulty.obey(({ method }) => (method === 'eth_call' ? notCanonical : undefined));
    await expect(network.carbonTotals(token)).rejects.toThrow(NetworkUnavailable);
    const [answer] = await network.retirementCountsOf([token]).catch(() => [null]);
    expect(answer).toBeNull();
  });
});

describe('what was deployed', () => {
  it('is found where nodes answer few blocks at a time', async () => {
    const call = deployCarbon();
    const token = await deploy(network, call);
    await testbed.anvil.mine(40);
    const reader = await testbed.open();
    let asked = 0;
    testbed.faulty.obey(({ method, params }) => {
      if (method !== 'eth_getLogs') return undefined;
      asked++;
      const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
      const isWide = BigInt(toBlock) - BigInt(fromBlock) >= 100n;
      return isWide ? { error: { code: -32005, message: 'block range is too wide' } } : undefined;
    });
    expect(await reader.findToken(call)).toBe(token);
    // Blocks that were read are not read again.
    asked = 0;
    expect(await reader.findToken(call)).toBe(token);
    expect(asked).toBeLessThanOrEqual(2);
    expect(await reader.findToken(deployCarbon())).toBeNull();
  });

  it('is custody’s own, and of the configured factory', async () => {
    const call = deployCarbon();
    const other = await testbed.open({ secretKey: testbed.stranger.secretKey });
    const theirs = await deploy(other, call);
    expect(await network.findToken(call)).toBeNull();
    expect(await other.findToken(call)).toBe(theirs);
    // Another factory emits the same events for its own tokens, but is not the trusted one.
    const { deployer, custody } = testbed;
    const elsewhere = await deployContracts(testbed.anvil, { deployer, custodyAddress: custody.address });
    const foreign = await testbed.open({ factoryAddress: elsewhere.factoryAddress });
    const foreignCall = deployCarbon();
    const token = await deploy(foreign, foreignCall);
    expect(await network.findToken(foreignCall)).toBeNull();
    expect((await network.carbonTotals(token)).totalRetirements).toBe(0);
  });

  it('is not taken from logs that the node makes up of another address', async () => {
    const call = deployCarbon();
    await deploy(network, call);
    const reader = await testbed.open();
    const logs = (await testbed.anvil.rpc('eth_getLogs', [
      { fromBlock: '0x0', toBlock: 'latest', address: testbed.contracts.factoryAddress },
    ])) as { address: string }[];
    testbed.faulty.obey(({ method }) =>
      method === 'eth_getLogs'
        ? { result: logs.map((log) => ({ ...log, address: testbed.custody.address })) }
        : undefined,
    );
    expect(await reader.findToken(call)).toBeNull();
  });
});

describe('the settlement contract', () => {
  const hidden = ['0x5c975abb', '0x61d027b3'];

  it('is read also where it does not show its pause and its treasury', async () => {
    const told = await network.settlementContract();
    expect(told).toMatchObject({ treasury: testbed.custody.address, paused: false });
    testbed.faulty.obey(({ method, params }) => {
      const { data, to } = (params[0] ?? {}) as { data?: string; to?: string };
      const isMulticall = to?.toLowerCase() === MULTICALL3_ADDRESS.toLowerCase();
      return method === 'eth_call' && (isMulticall || hidden.includes(data ?? ''))
        ? { error: { code: 3, message: 'execution reverted', data: '0x' } }
        : undefined;
    });
    expect(await network.settlementContract()).toEqual(told);
    const unknown = await testbed.open({ settlementFactoryAddress: undefined });
    expect(await unknown.settlementContract()).toEqual({ ...told, treasury: null });
  });

  it('has no deposit in a state that is not known here', async () => {
    const sessionId = randomUUID();
    const status = (number: number) => {
      const words = [1, 1, 1, number, 1].map((word) => word.toString(16).padStart(64, '0'));
      testbed.faulty.obey(({ method }) =>
        method === 'eth_call' ? { result: `0x${words.join('')}` } : undefined,
      );
      return network.offRampDeposit(testbed.contracts.settlementAddress, sessionId);
    };
    expect(await status(0)).toBeNull();
    expect(await status(1)).toMatchObject({ status: 'PENDING' });
    await expect(status(5)).rejects.toThrow('a status 5');
  });

  it('is none where none is configured, or none stands', async () => {
    const without = await testbed.open({ settlementAddress: undefined });
    expect(await without.settlementContract()).toBeNull();
    const confirm = { kind: 'confirmOffRampSettlement', sessionId: randomUUID() } as const;
    expect((await refusalOf(without.draft(confirm))).reason).toBe('CONTRACT_NOT_FOUND');
    const wrong = await testbed.open({ settlementAddress: testbed.stranger.address });
    expect(await wrong.settlementContract()).toBeNull();
    expect((await refusalOf(wrong.draft(confirm))).reason).toBe('CONTRACT_NOT_FOUND');
    expect(await network.offRampDeposit(testbed.stranger.address, 'a session')).toBeNull();
    expect(
      (await refusalOf(network.offRampDeposit(testbed.contracts.factoryAddress, 'a session'))).reason,
    ).toBe('WRONG_TEMPLATE');
  });

  it('says before the allowance whether it would take a deposit', async () => {
    const token = await deploy(network, deployReceipt(4_000_000_000n));
    const depositor = network.custodyAddress;
    await land(network, { kind: 'mint', tokenAddress: token, to: depositor, amount: 100n });
    const deposit = {
      kind: 'depositOffRamp',
      sessionId: randomUUID(),
      tokenAddress: token,
      amount: 60n,
    } as const;
    await network.checkDeposit(deposit, depositor);
    const inOtherWords = encodeErrorResult({ abi: errorAbi, args: ['let me take them first'] });
    testbed.faulty.obey(({ method, params }) => {
      const { to } = (params[0] ?? {}) as { to?: string };
      return method === 'eth_call' && to === testbed.contracts.settlementAddress
        ? { error: { code: 3, message: 'execution reverted', data: inOtherWords } }
        : undefined;
    });
    await network.checkDeposit(deposit, depositor);
    testbed.faulty.obey();
    const reasonFor = async (changes: { tokenAddress?: string; amount?: bigint }) =>
      (await refusalOf(network.checkDeposit({ ...deposit, ...changes }, depositor))).reason;
    expect(await reasonFor({ amount: 101n })).toBe('INSUFFICIENT_BALANCE');
    expect(await reasonFor({ amount: 0n })).toBe('ZERO_AMOUNT');
    expect(await reasonFor({ tokenAddress: testbed.stranger.address })).toBe('CONTRACT_NOT_FOUND');
    await pause(token, true);
    expect(await reasonFor({})).toBe('PAUSED');
    await pause(token, false);
    await pause(testbed.contracts.settlementAddress, true);
    expect(await reasonFor({})).toBe('PAUSED');
    await pause(testbed.contracts.settlementAddress, false);
    await land(network, deposit);
    expect(await reasonFor({ amount: 1n })).toBe('REFERENCE_ALREADY_USED');
  });
});

describe('a look at the chain', () => {
  async function results(changes: Partial<EvmNetworkOptions> = {}): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const options: EvmNetworkOptions = {
      name: 'evm',
      rpcUrl: testbed.faulty.url,
      chainId: testbed.anvil.chainId,
      secretKey: testbed.custody.secretKey,
      ...testbed.contracts,
      finality: 'finalized',
      ...EVM_LIMITS,
      maxFeePerGasCap: 100n * GWEI,
      ...changes,
    };
    for await (const { name, result } of checkEvmNetwork(options)) found[name] = result;
    return found;
  }

  it('finds nothing wrong where nothing is', async () => {
    expect(new Set(Object.values(await results()))).toEqual(new Set(['pass']));
  });

  it('names what is wrong, and goes on', async () => {
    const stranger = await results({ secretKey: testbed.stranger.secretKey });
    expect(stranger).toMatchObject({ 'settlement roles': 'fail', 'token factory': 'pass' });
    const poor = await results({ secretKey: `0x${'33'.repeat(32)}` });
    expect(poor).toMatchObject({ funds: 'fail', fees: 'pass' });
    const nowhere = await results({ factoryAddress: testbed.stranger.address, maxFeePerGasCap: 1n });
    expect(nowhere).toMatchObject({ 'token factory': 'fail', fees: 'fail' });
    testbed.faulty.answerAll({
      status: 200,
      body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}',
    });
    expect(await results()).toMatchObject({ batches: 'fail', finality: 'fail' });
    testbed.faulty.answerAll(null);
  });
});

it('reads a byte order mark in a foreign text as part of it', async () => {
  const token = await mintedCarbon(network, 2n);
  const [beneficiary, note] = ['\ufeffAcme', '\ufeff\ufeffé\ufeff'];
  await land(network, { kind: 'retire', tokenAddress: token, amount: 1n, beneficiary, note });
  const { records } = await network.retirementRecords(token, 0, 1);
  expect(records).toMatchObject([{ beneficiary, note }]);
});

it('reads a NUL in a foreign text as text that a database can store', async () => {
  const token = await mintedCarbon(network, 2n);
  await land(network, {
    kind: 'retire',
    tokenAddress: token,
    amount: 1n,
    beneficiary: 'a\u0000b',
    note: '\u0000',
  });
  const { records } = await network.retirementRecords(token, 0, 1);
  expect(records).toMatchObject([{ beneficiary: 'a\ufffdb', note: '\ufffd' }]);
});

describe('addresses', () => {
  it('have one spelling, and a wrong checksum is refused', async () => {
    const { custodyAddress } = network;
    expect(network.normalizeAddress(custodyAddress.toLowerCase())).toBe(custodyAddress);
    expect(network.normalizeAddress(`0x${custodyAddress.slice(2).toUpperCase()}`)).toBe(custodyAddress);
    const swapped = custodyAddress.replace(/[a-f]/i, (digit) =>
      digit === digit.toLowerCase() ? digit.toUpperCase() : digit.toLowerCase(),
    );
    expect(network.normalizeAddress(swapped)).toBeNull();
    const token = await mintedCarbon(network, 3n);
    expect(await network.balanceOf(token.toLowerCase(), custodyAddress.toLowerCase())).toBe(3n * TONNE);
    const [answer] = await network.retirementCountsOf([token.toLowerCase()]);
    expect(answer).toEqual({ tokenAddress: token, totalRetirements: 0 });
  });
});
