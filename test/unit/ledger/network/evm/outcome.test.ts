/**
 * The node is asked about a pending transaction once for each final block.
 */
import { beforeEach, expect, it } from 'vitest';
import { createOutcomes } from '../../../../../src/ledger/network/evm/outcome.ts';

const HASH = `0x${'a'.repeat(64)}`;
const SENT = {
  hash: HASH,
  source: `0x${'1'.repeat(40)}`,
  sequence: 7n,
  validUntil: null,
  preparedAtLedger: 50n,
};

let final: { number: bigint; hash: string };
let state: unknown;
let used: bigint;
let receipt: unknown;
let transaction: unknown;
let asked: number;
let look: () => Promise<unknown>;

beforeEach(() => {
  final = { number: 100n, hash: '0x100' };
  state = { blockHash: final.hash, requireCanonical: true };
  used = 7n;
  receipt = null;
  transaction = null;
  asked = 0;
  const finality = {
    onFinalBlock: (work: (pin: unknown) => unknown) => work({ final, state, rewritten: null }),
    askTogether: async () => {
      asked += 1;
      return [receipt, transaction, used].map((value) => ({ value }));
    },
  };
  const outcome = createOutcomes({ rpc: {}, finality, contracts: {} } as never);
  look = () => outcome(SENT);
});

it.each([
  ['is in no block', () => {}],
  ['is in a block that is not final', () => (receipt = { transactionHash: HASH, blockNumber: 101n })],
])('is not asked again at the same final block about one that %s', async (_, change) => {
  change();
  expect(await look()).toEqual({ status: 'pending' });
  expect(await look()).toEqual({ status: 'pending' });
  expect(asked).toBe(1);
  final = { number: 101n, hash: '0x101' };
  receipt = null;
  await look();
  expect(asked).toBe(2);
});

it.each([
  ['the state is of a number, not of a block', () => (state = '0x64')],
  [
    'its nonce is used, in a block that is not final',
    () => ([used, receipt] = [8n, { transactionHash: HASH, blockNumber: 101n }]),
  ],
])('is asked again when %s', async (_, change) => {
  change();
  expect(await look()).toEqual({ status: 'pending' });
  expect(await look()).toEqual({ status: 'pending' });
  expect(asked).toBe(2);
});

it.each([
  ['a receipt without the transaction', () => (used = 8n)],
  ['a landed transaction whose nonce is unused', () => (transaction = { hash: HASH })],
])('is asked again when its answers contradict each other: %s', async (_, change) => {
  change();
  receipt = { transactionHash: HASH, blockNumber: 99n };
  await expect(look()).rejects.toThrow('contradict');
  await expect(look()).rejects.toThrow('contradict');
  expect(asked).toBe(2);
});
