/**
 * The keys of the rows that are loaded for a call, under the lock that serialises landing.
 */
import { describe, expect, test } from 'vitest';
import type { Invocation } from '../../../../../src/ledger/network/embedded/calls.ts';
import { keysOf } from '../../../../../src/ledger/network/embedded/contracts/execute.ts';

const CONTEXT = { networkId: 'n', factoryAddress: 'F', source: 'S' };
const TOKEN = 'T';

describe('the balances that a call loads', () => {
  test.each<[Invocation, string[]]>([
    [{ kind: 'mint', tokenAddress: TOKEN, to: 'A', amount: 1n }, ['A']],
    [{ kind: 'retire', tokenAddress: TOKEN, amount: 1n, beneficiary: '', note: '' }, ['S']],
    [{ kind: 'transfer', tokenAddress: TOKEN, to: 'A', amount: 1n }, ['S', 'A']],
    [{ kind: 'markExpired', tokenAddress: TOKEN }, []],
    [
      { kind: 'depositOffRamp', settlementAddress: 'R', sessionId: 's', tokenAddress: TOKEN, amount: 1n },
      ['S', 'R'],
    ],
    [{ kind: 'refundOffRamp', settlementAddress: 'R', sessionId: 's' }, []],
    [{ kind: 'setPaused', contractAddress: TOKEN, paused: true }, []],
  ])('are those that it reads: $kind', (call, holders) => {
    const expected = holders.map((holder) => ({ tokenAddress: TOKEN, holder }));
    expect(keysOf(CONTEXT, call).balances).toEqual(expected);
  });
});
