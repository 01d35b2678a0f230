/**
 * Reads of many tokens from a node that is silent, or that answers strangely for some tokens.
 */
import { nativeToScVal, StrKey } from '@stellar/stellar-sdk';
import { expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../../../src/ledger/network/port.ts';
import { RECEIPT_STATUSES } from '../../../../../src/ledger/network/port/tokens.ts';
import {
  UnreadableFailure,
  type ContractReads,
} from '../../../../../src/ledger/network/stellar/contractReads.ts';
import { statusOf, UnexpectedValue } from '../../../../../src/ledger/network/stellar/scvals.ts';
import { createTokenReads } from '../../../../../src/ledger/network/stellar/tokenReads.ts';

const tokens = Array.from({ length: 200 }, (_, at) => StrKey.encodeContract(Buffer.alloc(32, at)));

/** Reads from a node that answers each question as `answer` does. */
function readsOf(answer: (question: number) => Error | bigint) {
  let asked = 0;
  const ask: ContractReads['ask'] = async () => {
    const answered = answer(asked++);
    if (answered instanceof Error) throw answered;
    return { ok: true, value: nativeToScVal(answered, { type: 'i128' }), ledger: 1n };
  };
  const never = () => Promise.reject(new Error('it was asked'));
  return {
    reads: createTokenReads({ ask, exists: never, fact: never, roleHolder: never }),
    asked: () => asked,
  };
}

it('asks a silent node about some tokens, and answers all', async () => {
  const { reads, asked } = readsOf(() => new NetworkUnavailable('timed out'));
  const answers = await reads.totalSuppliesOf(tokens);
  expect(asked()).toBeLessThanOrEqual(32);
  expect(answers).toEqual(
    tokens.map((tokenAddress) => ({ tokenAddress, error: expect.any(NetworkUnavailable) })),
  );
});

it.each([
  ['fails at the first ones by itself', new UnreadableFailure('it could not simulate'), 0],
  ['is silent for a moment', new NetworkUnavailable('timed out'), 20],
])('asks a node about all that %s', async (_how, failure, from) => {
  const { reads, asked } = readsOf((question) => (question >= from && question < from + 40 ? failure : 5n));
  const answers = await reads.totalSuppliesOf(tokens);
  expect(asked()).toBe(200);
  expect(answers.filter((answer) => 'amount' in answer && answer.amount === 5n)).toHaveLength(160);
});

it('asks about each token whether it has expired, also when many running have no answer', async () => {
  const { reads, asked } = readsOf(() => new NetworkUnavailable('timed out'));
  await reads.expiryOf(tokens);
  expect(asked()).toBe(400);
});

it.each(['Lost', 'ACTIVE', 'constructor'])('does not take the name %s for a status', (name) => {
  expect(() => statusOf(RECEIPT_STATUSES, [name], 'a receipt')).toThrow(UnexpectedValue);
});

it('knows each status by the name that the contracts give it', () => {
  const names = ['Draft', 'Active', 'Suspended', 'Redeemed', 'Expired'];
  expect(names.map((name) => statusOf(RECEIPT_STATUSES, [name], 'a receipt'))).toEqual(RECEIPT_STATUSES);
});
