/**
 * Outcomes of transactions on an EVM chain, whatever chain and node do meanwhile: a transaction is found
 * again after a reorganisation, and proved dead only by the one that took its place, never by a node that
 * denies it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeFunctionData, hexToBytes, keccak256 } from 'viem';
import type { Address, Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { carbonTokenAbi } from '../../../src/ledger/network/evm/contracts.ts';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { NetworkCall, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { TONNE, deployCarbon, prepare, prepareAll, retire } from '../../../devnet/calls.ts';
import type { RpcQuestion } from '../../../devnet/evm/faultyNode.ts';
import { GWEI, startEvmTestbed } from '../../support/evm/testbed.ts';
import type { EvmTestbed } from '../../support/evm/testbed.ts';

let testbed: EvmTestbed;
/** Two further blocks make a block final. */
let network: EvmNetwork;
let token: Address;

beforeAll(async () => {
  testbed = await startEvmTestbed({ mining: 'on-demand', finality: { confirmations: 2 } });
  network = await testbed.open();
  token = (await landed(deployCarbon())) as Address;
  await landed({ kind: 'mint', tokenAddress: token, to: network.custodyAddress, amount: 1000n * TONNE });
});
afterAll(() => testbed.close());
beforeEach(() => testbed.faulty.obey());

async function send(call: NetworkCall): Promise<PreparedTransaction> {
  const prepared = await prepare(network, call);
  expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  return prepared;
}

/** Lands a call finally. @returns the address, if it was a deploy */
async function landed(call: NetworkCall): Promise<string | null> {
  const prepared = await send(call);
  await testbed.anvil.mine(3);
  const outcome = await network.outcome(prepared);
  if (outcome.status !== 'succeeded') throw new Error(`${call.kind} is ${outcome.status}`);
  return outcome.result.kind === 'deployed' ? outcome.result.contractAddress : null;
}

/** Signs a transaction with custody's own key, without the product. */
async function signByHand(fields: { nonce: bigint; gas: bigint; data: Hex }): Promise<PreparedTransaction> {
  const account = privateKeyToAccount(testbed.custody.secretKey);
  const signed = await account.signTransaction({
    type: 'eip1559',
    chainId: testbed.anvil.chainId,
    nonce: Number(fields.nonce),
    to: token,
    data: fields.data,
    gas: fields.gas,
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: 10n * GWEI,
  });
  const { ledger } = await network.status();
  return {
    hash: keccak256(signed),
    signedBytes: hexToBytes(signed),
    source: account.address,
    sequence: fields.nonce,
    validUntil: null,
    preparedAtLedger: ledger,
  };
}

const retireData = (amount: bigint): Hex =>
  encodeFunctionData({ abi: carbonTokenAbi, functionName: 'retire', args: [amount, 'Acme', 'by hand'] });

const isAbout = (question: RpcQuestion, hash: string): boolean => question.params[0] === hash;

describe('finality', () => {
  it('waits for as many blocks on top as configured', async () => {
    const sent = await send(retire(token, TONNE));
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    await testbed.anvil.mine(1);
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    await testbed.anvil.mine(1);
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    await testbed.anvil.mine(1);
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded' });
  });

  it('reads what is final, and nothing later', async () => {
    const before = await network.carbonTotals(token);
    await send(retire(token, TONNE));
    await testbed.anvil.mine(2);
    expect(await network.carbonTotals(token)).toEqual(before);
    await testbed.anvil.mine(1);
    expect((await network.carbonTotals(token)).totalRetirements).toBe(before.totalRetirements + 1);
  });

  it('refuses for good only what is refused finally', async () => {
    const { totalSupply } = await network.carbonTotals(token);
    // The latest block has retired all of it, but not finally, so that may still be undone.
    await send(retire(token, totalSupply));
    await testbed.anvil.mine(1);
    await expect(network.draft(retire(token, TONNE))).rejects.toThrow(NetworkUnavailable);
    await testbed.anvil.mine(2);
    await expect(network.draft(retire(token, TONNE))).rejects.toMatchObject({
      reason: 'INSUFFICIENT_BALANCE',
    });
    await landed({ kind: 'mint', tokenAddress: token, to: network.custodyAddress, amount: 1000n * TONNE });
  });
});

describe('reorganisations', () => {
  it('finds a transaction again in another block', async () => {
    const sent = await send(retire(token, TONNE));
    await testbed.anvil.mine(2);
    await testbed.anvil.rpc('anvil_reorg', [2, []]);
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    expect(await network.broadcast(sent.signedBytes)).toEqual({ status: 'accepted' });
    const { number } = (await testbed.anvil.rpc('eth_getBlockByNumber', ['latest', false])) as {
      number: Hex;
    };
    await testbed.anvil.mine(3);
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded', ledger: BigInt(number) + 1n });
  });

  it('proves it dead when the other branch holds another in its place', async () => {
    const sent = await send(retire(token, TONNE));
    await testbed.anvil.mine(1);
    const other = await signByHand({ nonce: sent.sequence ?? 0n, gas: 500_000n, data: retireData(5n) });
    const raw = `0x${Buffer.from(other.signedBytes).toString('hex')}`;
    await testbed.anvil.rpc('anvil_reorg', [1, [[raw, 0]]]);
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    await testbed.anvil.mine(2);
    const outcome = await network.outcome(sent);
    expect(outcome).toMatchObject({ status: 'dead' });
    expect(outcome).toHaveProperty('proof', expect.stringContaining(other.hash));
    expect(await network.outcome(other)).toMatchObject({ status: 'succeeded' });
  });

  it('keeps what an index of deployments held from being believed after its block is gone', async () => {
    const hasty = await testbed.open({ finality: { confirmations: 0 } });
    const call = deployCarbon();
    const prepared = await prepare(hasty, call);
    await hasty.broadcast(prepared.signedBytes);
    await testbed.anvil.mine(1);
    const found = await hasty.findToken(call);
    expect(found).not.toBeNull();
    await testbed.anvil.rpc('anvil_reorg', [1, []]);
    expect(await hasty.findToken(call)).toBeNull();
  });
});

describe('what the pool forgets', () => {
  it('keeps a dropped transaction pending, and lands it when it is sent again', async () => {
    const sent = await send(retire(token, TONNE));
    await testbed.anvil.rpc('anvil_dropTransaction', [sent.hash]);
    await testbed.anvil.mine(4);
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    expect(await network.broadcast(sent.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(3);
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded' });
  });

  it.each([
    'AlreadyKnown',
    'OwnNonceAlreadyUsed',
    'Upfront cost exceeds account balance',
    'tx already in mempool',
  ])('is not what the node says that has the transaction: %s', async (message) => {
    const sent = await send(retire(token, TONNE));
    testbed.faulty.obey(({ method }) =>
      method === 'eth_sendRawTransaction' ? { error: { code: -32_010, message } } : undefined,
    );
    expect(await network.broadcast(sent.signedBytes)).toEqual({ status: 'accepted' });
    // The transaction is in a block that is not final yet.
    await testbed.anvil.mine(1);
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    expect(await network.broadcast(sent.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(2);
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded' });
    const unsent = await prepare(network, retire(token, TONNE));
    expect(await network.broadcast(unsent.signedBytes)).toEqual({
      status: 'refused',
      reason: expect.stringContaining(message),
    });
  });

  it('calls a replaced one dead only once its replacement is final', async () => {
    const sent = await send(retire(token, TONNE));
    const other = await signByHand({ nonce: sent.sequence ?? 0n, gas: 500_000n, data: retireData(7n) });
    expect(await network.broadcast(other.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(2);
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
    await testbed.anvil.mine(1);
    expect(await network.outcome(sent)).toMatchObject({ status: 'dead' });
    // The node refuses it, but a broadcast does not decide that a transaction is dead.
    expect(await network.broadcast(sent.signedBytes)).toMatchObject({ status: 'unknown' });
  });

  it('waits behind a gap, and goes on when it is filled', async () => {
    const [first, second] = await prepareAll(network, [retire(token, TONNE), retire(token, 2n * TONNE)]);
    expect(await network.broadcast(second.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(4);
    expect(await network.outcome(second)).toEqual({ status: 'pending' });
    expect(await network.broadcast(first.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(3);
    const outcomes = [await network.outcome(first), await network.outcome(second)];
    expect(outcomes.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  });
});

describe('reverted transactions', () => {
  it('gives the reason when what caused it landed in the same block', async () => {
    const { totalSupply } = await network.carbonTotals(token);
    const most = totalSupply - TONNE;
    const both = await prepareAll(network, [retire(token, most), retire(token, most)]);
    for (const { signedBytes } of both) await network.broadcast(signedBytes);
    await testbed.anvil.mine(3);
    expect(await network.outcome(both[0])).toMatchObject({ status: 'succeeded' });
    const refused = await network.outcome(both[1]);
    expect(refused).toMatchObject({ status: 'refused', refusal: { reason: 'INSUFFICIENT_BALANCE' } });
    await landed({ kind: 'mint', tokenAddress: token, to: network.custodyAddress, amount: 1000n * TONNE });
  });

  it('calls it dead, not refused, when it only ran out of gas', async () => {
    const nonce = (await network.nextSequences()).get(network.custodyAddress) ?? 0n;
    const starved = await signByHand({ nonce, gas: 70_000n, data: retireData(TONNE) });
    expect(await network.broadcast(starved.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(3);
    const outcome = await network.outcome(starved);
    expect(outcome).toMatchObject({ status: 'dead', cause: 'out of gas' });
    expect(outcome).toHaveProperty('proof', expect.stringContaining('gas'));
    await landed(retire(token, TONNE));
  });

  it('calls it refused, when the contract would refuse it with any gas', async () => {
    const nonce = (await network.nextSequences()).get(network.custodyAddress) ?? 0n;
    const { totalSupply } = await network.carbonTotals(token);
    const starved = await signByHand({ nonce, gas: 28_000n, data: retireData(totalSupply + 1n) });
    expect(await network.broadcast(starved.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(3);
    expect(await network.outcome(starved)).toMatchObject({
      status: 'refused',
      refusal: { reason: 'INSUFFICIENT_BALANCE' },
    });
  });
});

describe('nodes that are not to be trusted', () => {
  const gone = { error: { code: -32000, message: 'missing trie node' } };
  const limited = { error: { code: -32005, message: 'rate limit exceeded' } };
  const isCountByNumber = ({ method, params }: RpcQuestion) =>
    method === 'eth_getTransactionCount' && typeof params[1] === 'string';
  const isFullBlock = ({ method, params }: RpcQuestion) =>
    method === 'eth_getBlockByNumber' && params[1] === true;

  it('does not take a denied receipt for a proof', async () => {
    const sent = await send(retire(token, TONNE));
    await testbed.anvil.mine(3);
    testbed.faulty.obey((question) => (isAbout(question, sent.hash) ? { result: null } : undefined));
    await expect(network.outcome(sent)).rejects.toThrow(NetworkUnavailable);
    testbed.faulty.obey();
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded' });
  });

  it.each(['eth_getTransactionReceipt', 'eth_getTransactionByHash'])(
    'takes no other transaction for the one that was asked for, by %s',
    async (method) => {
      const other = await send(retire(token, TONNE));
      await testbed.anvil.mine(1);
      const sent = await send(retire(token, TONNE));
      await testbed.anvil.mine(3);
      const result = await testbed.anvil.rpc(method, [other.hash]);
      testbed.faulty.obey((question) =>
        question.method === method && isAbout(question, sent.hash) ? { result } : undefined,
      );
      await expect(network.outcome(sent)).rejects.toThrow(`another transaction in place of ${sent.hash}`);
    },
  );

  it('waits while a receipt is of a block that is not in the chain', async () => {
    const sent = await send(retire(token, TONNE));
    await testbed.anvil.mine(3);
    const receipt = (await testbed.anvil.rpc('eth_getTransactionReceipt', [sent.hash])) as object;
    // A node shows such a receipt when it keeps data of another branch or another chain.
    const result = { ...receipt, blockHash: `0x${'ab'.repeat(32)}` };
    testbed.faulty.obey(({ method }) => (method === 'eth_getTransactionReceipt' ? { result } : undefined));
    expect(await network.outcome(sent)).toEqual({ status: 'pending' });
  });

  it('does not go back to what a node shows that is behind', async () => {
    const sent = await send(retire(token, TONNE));
    const stale = await testbed.anvil.rpc('eth_getBlockByNumber', ['latest', false]);
    await testbed.anvil.mine(3);
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded' });
    testbed.faulty.obey(({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === 'latest' ? { result: stale } : undefined,
    );
    await expect(network.outcome(sent)).rejects.toThrow(/behind/);
    await expect(network.carbonTotals(token)).rejects.toThrow(/behind/);
  });

  it('leaves it to people when the history that would decide is gone', async () => {
    const sent = await send(retire(token, TONNE));
    const other = await signByHand({ nonce: sent.sequence ?? 0n, gas: 500_000n, data: retireData(9n) });
    await network.broadcast(other.signedBytes);
    await testbed.anvil.mine(3);
    testbed.faulty.obey((question) =>
      isCountByNumber(question) || isFullBlock(question) ? gone : undefined,
    );
    expect(await network.outcome(sent)).toMatchObject({ status: 'undeterminable' });
    // When the node has at least the blocks, they are read one by one.
    testbed.faulty.obey((question) => (isCountByNumber(question) ? gone : undefined));
    expect(await network.outcome(sent)).toMatchObject({ status: 'dead' });
  });

  it('asks again for the history that a node is only too busy to show', async () => {
    const sent = await send(retire(token, TONNE));
    await testbed.anvil.mine(3);
    const isDenied = (question: RpcQuestion) =>
      question.method === 'eth_getTransactionReceipt' && isAbout(question, sent.hash);
    for (const isLimited of [isCountByNumber, isFullBlock]) {
      testbed.faulty.obey((question) => {
        if (isDenied(question)) return { result: null };
        return isLimited(question) ? limited : undefined;
      });
      await expect(network.outcome(sent)).rejects.toThrow('rate limit exceeded');
    }
    testbed.faulty.obey();
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded' });
  });

  it('does not take the missing blocks of a node that is behind for pruned ones', async () => {
    const sent = await send(retire(token, TONNE));
    await testbed.anvil.mine(3);
    // Behind a load balancer: the full blocks come from a node that is behind, the requests before and after
    // go to another one.
    let isBehind = false;
    testbed.faulty.obey((question) => {
      const { method, params } = question;
      if (method === 'eth_getTransactionReceipt' && isAbout(question, sent.hash)) return { result: null };
      if (isCountByNumber(question)) isBehind = true;
      if (isFullBlock(question)) {
        isBehind = false;
        return { result: null };
      }
      const isBlock = method === 'eth_getBlockByNumber' && params[0] !== 'latest';
      return isBehind && isBlock ? { result: null } : undefined;
    });
    await expect(network.outcome(sent)).rejects.toThrow(NetworkUnavailable);
    testbed.faulty.obey();
    expect(await network.outcome(sent)).toMatchObject({ status: 'succeeded' });
  });

  /** Sends two retirements in one block. @returns the second, for which too little is left */
  async function refusedInItsBlock(): Promise<PreparedTransaction> {
    const { totalSupply } = await network.carbonTotals(token);
    const most = totalSupply - TONNE;
    const both = await prepareAll(network, [retire(token, most), retire(token, most)]);
    for (const { signedBytes } of both) await network.broadcast(signedBytes);
    return both[1];
  }

  const refused = (reason: string) => ({ status: 'refused', refusal: { reason } });

  it('takes a reverted call for refused without a reason only where the state is gone', async () => {
    const sent = await refusedInItsBlock();
    await testbed.anvil.mine(3);
    const callsEnd = (answer: typeof gone) =>
      testbed.faulty.obey(({ method }) => (method === 'eth_call' ? answer : undefined));
    callsEnd(limited);
    await expect(network.outcome(sent)).rejects.toThrow('rate limit exceeded');
    callsEnd({ error: { code: -32603, message: 'state at block #7 is pruned' } });
    expect(await network.outcome(sent)).toMatchObject(refused('OTHER'));
    testbed.faulty.obey();
    expect(await network.outcome(sent)).toMatchObject(refused('INSUFFICIENT_BALANCE'));
    await landed({ kind: 'mint', tokenAddress: token, to: network.custodyAddress, amount: 1000n * TONNE });
  });

  it('does not take the missing states of a node that is behind for gone ones, or for such that accept', async () => {
    const sent = await refusedInItsBlock();
    await testbed.anvil.mine(4);
    const { blockNumber } = (await testbed.anvil.rpc('eth_getTransactionReceipt', [sent.hash])) as {
      blockNumber: Hex;
    };
    const unseen = { error: { code: -32000, message: 'header not found' } };
    // Behind a load balancer: the blocks after the transaction's block come from a node that is behind, the
    // rest from another one.
    let isBehind = false;
    testbed.faulty.obey(({ method, params }) => {
      if (method === 'eth_call') return unseen;
      if (method !== 'eth_getBlockByNumber') return undefined;
      if (params[0] === 'latest') {
        isBehind = false;
        return undefined;
      }
      if (isBehind) return { result: null };
      isBehind = params[0] === blockNumber;
      return undefined;
    });
    await expect(network.outcome(sent)).rejects.toThrow(NetworkUnavailable);
    // This node has only the state before, which accepts the call.
    testbed.faulty.obey(({ method, params }) =>
      method === 'eth_call' && params[1] === blockNumber ? unseen : undefined,
    );
    await expect(network.outcome(sent)).rejects.toThrow('header not found');
    testbed.faulty.obey();
    expect(await network.outcome(sent)).toMatchObject(refused('INSUFFICIENT_BALANCE'));
    await landed({ kind: 'mint', tokenAddress: token, to: network.custodyAddress, amount: 1000n * TONNE });
  });

  it('manages with a node that does not know blocks by their hash', async () => {
    testbed.faulty.obey(({ params }) =>
      typeof params[1] === 'object' && params[1] !== null
        ? { error: { code: -32602, message: 'invalid argument 1: hex string expected' } }
        : undefined,
    );
    const old = await testbed.open();
    const prepared = await prepare(old, retire(token, TONNE));
    await old.broadcast(prepared.signedBytes);
    await testbed.anvil.mine(3);
    expect(await old.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    expect((await old.carbonTotals(token)).totalRetirements).toBeGreaterThan(0);
  });

  it('manages with a node that takes no batches', async () => {
    testbed.faulty.limitBatches(1);
    const plain = await testbed.open();
    const prepared = await prepare(plain, retire(token, TONNE));
    expect(await plain.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    expect(await plain.outcome(prepared)).toEqual({ status: 'pending' });
    await testbed.anvil.mine(3);
    expect(await plain.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    expect((await plain.retirementRecords(token, 0, 200)).records.length).toBeGreaterThan(0);
    testbed.faulty.limitBatches(null);
  });

  it('takes no answer for nothing but unknown', async () => {
    const prepared = await prepare(network, retire(token, TONNE));
    for (const response of [
      { status: 503, body: 'upstream is away' },
      { status: 200, body: '{"jsonrpc":"2.0","id":0,"resu' },
      { status: 200, body: '[]' },
      { status: 200, body: '{}' },
      { status: 200, body: 'null' },
      { status: 200, body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"too many"}}' },
      { status: 200, body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}' },
    ]) {
      testbed.faulty.answerAll(response);
      expect(await network.broadcast(prepared.signedBytes)).toMatchObject({ status: 'unknown' });
      await expect(network.outcome(prepared)).rejects.toThrow(NetworkUnavailable);
      await expect(network.draft(retire(token, TONNE))).rejects.toThrow(NetworkUnavailable);
    }
    testbed.faulty.answerAll(null);
    // The answer to the send is lost, but the node got the transaction.
    testbed.faulty.obey(({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return undefined;
      void testbed.anvil.rpc('eth_sendRawTransaction', params);
      return 'cut';
    });
    expect(await network.broadcast(prepared.signedBytes)).toMatchObject({ status: 'unknown' });
    testbed.faulty.obey();
    await expect.poll(() => testbed.anvil.rpc('eth_getTransactionByHash', [prepared.hash])).not.toBeNull();
    expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    await testbed.anvil.mine(3);
    expect(await network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
  });
});

describe('a node that dies and returns', () => {
  it('goes on where it was, and unknown is all that is said meanwhile', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'evm-state-'));
    const own = await startEvmTestbed({ stateFile: join(folder, 'state.json') });
    try {
      const custody = await own.open();
      const prepared = await prepare(custody, deployCarbon());
      await custody.broadcast(prepared.signedBytes);
      // The node closes the block after its answer.
      await expect.poll(() => custody.outcome(prepared)).toMatchObject({ status: 'succeeded' });
      const before = await custody.outcome(prepared);
      const next = await prepare(custody, deployCarbon());
      await own.anvil.stop();
      expect(await custody.broadcast(next.signedBytes)).toMatchObject({ status: 'unknown' });
      await expect(custody.outcome(prepared)).rejects.toThrow(NetworkUnavailable);
      await expect(custody.status()).rejects.toThrow(NetworkUnavailable);

      await own.anvil.start();
      expect(await custody.outcome(prepared)).toEqual(before);
      expect(await custody.outcome(next)).toEqual({ status: 'pending' });
      expect(await custody.broadcast(next.signedBytes)).toEqual({ status: 'accepted' });
      await expect.poll(() => custody.outcome(next)).toMatchObject({ status: 'succeeded' });
      expect((await own.open()).networkId).toBe(custody.networkId);
    } finally {
      await own.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('opens without its node, and works when that comes', async () => {
    const own = await startEvmTestbed();
    try {
      own.faulty.answerAll({ status: 502, body: '' });
      const custody = await own.open();
      expect(custody.networkId).toBe(`eip155:${own.anvil.chainId}`);
      await expect(custody.status()).rejects.toThrow(NetworkUnavailable);
      own.faulty.answerAll(null);
      expect((await custody.status()).ledger).toBeGreaterThan(0n);
      expect((await own.open()).networkId).toMatch(/^eip155:31337:0x[0-9a-f]{64}$/);
    } finally {
      await own.close();
    }
  });
});
