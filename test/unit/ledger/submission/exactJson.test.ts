/**
 * Values as JSON with integers of any size.
 */
import { expect, it } from 'vitest';
import { decodeExact, encodeExact } from '../../../../src/ledger/submission/exactJson.ts';

it('keeps integers, also in lists and within other values', () => {
  const value = { list: [2n ** 100n, 'a', null, [-1n]], within: { amount: 0n, count: 3, isOpen: true } };
  const stored: unknown = JSON.parse(JSON.stringify(encodeExact(value)));
  expect(decodeExact(stored)).toEqual(value);
});
