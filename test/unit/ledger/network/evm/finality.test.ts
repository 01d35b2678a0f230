/**
 * References to a final block: by hash, unless the node does not support hashes. And the block that the end
 * of a halt accepts.
 */
import { beforeEach, expect, it } from 'vitest';
import { createFinality } from '../../../../../src/ledger/network/evm/finality.ts';
import type { Finality } from '../../../../../src/ledger/network/evm/finality.ts';
import { RpcError, valueOf } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import type { Answer, Question } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { NetworkBehind, ReorgUnconfirmed } from '../../../../../src/ledger/network/port.ts';

const BLOCK = { number: '0x7', hash: `0x${'7'.repeat(64)}`, timestamp: '0x1', gasLimit: '0x1' };
const UNSUPPORTED = { code: -32602, message: 'invalid argument 1: hex string expected' };
const BY_HASH = { blockHash: BLOCK.hash, requireCanonical: true };

/** The node's error when a block is given by its hash; null when the node answers. */
let problem: { code: number; message: string } | null;
let questionsByHash: number;
let finality: Finality;
beforeEach(() => {
  problem = null;
  questionsByHash = 0;
  finality = createFinality({ askTogether: async (all: Question<unknown>[]) => all.map(answer) } as never, {
    confirmations: 0,
  });
});

function answer({ method, read }: Question<unknown>): Answer<unknown> {
  if (method === 'eth_getBlockByNumber') return { value: read(BLOCK) };
  questionsByHash++;
  return problem === null ? { value: read('0x0') } : { error: new RpcError(method, problem) };
}

async function stateAfter(pins: number): Promise<unknown> {
  for (let left = pins; left > 1; left--) await finality.pin();
  return (await finality.pin()).state;
}

it('is by hash again after the node was in trouble', async () => {
  problem = { code: -32005, message: 'rate limit exceeded' };
  expect(await stateAfter(10)).toBe('0x7');
  problem = null;
  expect(await stateAfter(1)).toEqual(BY_HASH);
});

it('is by number where the node does not support hashes, which it is seldom asked then', async () => {
  problem = UNSUPPORTED;
  expect(await stateAfter(900)).toBe('0x7');
  expect(questionsByHash).toBe(3);
});

it('is by hash again after a while in which each answer came from a node of another kind', async () => {
  problem = UNSUPPORTED;
  await stateAfter(3);
  problem = null;
  expect(await stateAfter(1)).toBe('0x7');
  expect(await stateAfter(1_000)).toEqual(BY_HASH);
});

/** A chain of blocks up to the head; `chain.false` is a block number shown in place of the head. */
function chainOf(head: number, confirmations = 0) {
  const blockAt = (number: number, digit = String(number % 10)) => ({
    ...BLOCK,
    number: `0x${number.toString(16)}`,
    hash: `0x${digit.repeat(64)}`,
  });
  const chain = { head, false: null as number | null, blockAt };
  const ofChain = ({ method, params, read }: Question<unknown>): Answer<unknown> => {
    if (method !== 'eth_getBlockByNumber') return { value: read('0x0') };
    const isLatest = params[0] === 'latest';
    const mixedUp = isLatest ? chain.false : null;
    if (mixedUp !== null) return { value: read(chain.blockAt(mixedUp, 'f')) };
    const number = isLatest ? chain.head : Number(params[0]);
    return { value: read(number > chain.head ? null : chain.blockAt(number)) };
  };
  const rpc = {
    ask: async (question: Question<unknown>) => valueOf(ofChain(question)),
    askTogether: async (all: Question<unknown>[]) => all.map(ofChain),
  };
  return { chain, answer: ofChain, finality: createFinality(rpc as never, { confirmations }) };
}

it('is no lower than what was final before, where one node of several behind an address is behind', async () => {
  const { chain, finality: ofSeveral } = chainOf(7);
  await ofSeveral.pin();
  chain.head = 5;
  await expect(ofSeveral.presentHistory()).rejects.toThrow(NetworkBehind);
  chain.head = 8;
  expect(await ofSeveral.presentHistory()).toEqual({ ledger: 8n, hash: chain.blockAt(8).hash });
});

it('is not far beyond what was final before by one answer alone, which no true node would reach', async () => {
  const { chain, finality: ofSeveral } = chainOf(7);
  await ofSeveral.pin();
  // Another chain answers one question of a batch; the true chain answers the others.
  chain.false = 5_000;
  await expect(ofSeveral.pin()).rejects.toThrow('as block 5000, and nothing when it is asked again');
  chain.false = null;
  chain.head = 900;
  expect((await ofSeveral.pin()).final.number).toBe(900n);
});

it('does not go back with the head, which drops by some blocks during a fork', async () => {
  const { chain, finality: ofFork } = chainOf(9, 2);
  expect((await ofFork.pin()).final.number).toBe(7n);
  chain.head = 8;
  expect((await ofFork.pin()).final).toMatchObject({ number: 7n, hash: chain.blockAt(7).hash });
});

it('is not confirmed yet when a node shows another block in its place, also when others are far ahead of that node', async () => {
  const { chain: whole, answer: byWhole } = chainOf(100, 20);
  const { chain: rewritten, answer: byRewritten } = chainOf(90, 20);
  rewritten.blockAt = (number) => whole.blockAt(number, number > 70 ? 'e' : undefined);
  const answers = [byWhole, byWhole, byRewritten, byRewritten];
  const nodes = {
    ask: async (question: Question<unknown>) => valueOf(byWhole(question)),
    askTogether: async (all: Question<unknown>[]) => all.map(answers.shift() ?? byWhole),
  };
  const ofBoth = createFinality(nodes as never, { confirmations: 20 });
  expect((await ofBoth.pin()).final.number).toBe(80n);
  await expect(ofBoth.requireContinuity()).rejects.toThrow(ReorgUnconfirmed);
});
