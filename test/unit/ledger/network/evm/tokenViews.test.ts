/**
 * Contracts whose answers have the form of a token's, and a value that no token has.
 */
import { pad, toHex, type Hex } from 'viem';
import { expect, it } from 'vitest';
import type { Pin } from '../../../../../src/ledger/network/evm/finality.ts';
import {
  EXPIRY,
  readTokens,
  RETIREMENT_COUNT,
  type View,
} from '../../../../../src/ledger/network/evm/tokenViews.ts';

const TOKEN: Hex = `0x${'1'.repeat(40)}`;

/** What is read of a contract that answers these words to the view, and the last one to anything else. */
async function read<T>(view: View<T>, words: readonly bigint[]) {
  const readAll = async (_: Pin, reads: readonly unknown[]) =>
    reads.map((_read, at) => ({
      kind: 'returned' as const,
      data: pad(toHex(words[at] ?? words.at(-1) ?? 0n)),
    }));
  const [found] = await readTokens(readAll, {} as Pin, [TOKEN], view);
  return found;
}

it('have no status beyond the known ones', async () => {
  expect(await read(EXPIRY, [0n, 4n])).toEqual({ isExpired: false, status: 'EXPIRED' });
  expect(await read(EXPIRY, [0n, 5n])).toBeInstanceOf(Error);
});

it('count no more retirements than a number holds', async () => {
  expect(await read(RETIREMENT_COUNT, [3n])).toEqual({ totalRetirements: 3 });
  expect(await read(RETIREMENT_COUNT, [2n ** 53n])).toBeInstanceOf(Error);
});
