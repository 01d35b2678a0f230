/**
 * A node's ledger numbers: a node that is behind is refused, and a single false number is not kept.
 */
import { beforeEach, expect, it } from 'vitest';
import { guardLedgerNumbers, WHOLE_HISTORY } from '../../../../src/ledger/network/continuity.ts';
import { NetworkBehind, type LedgerNetwork } from '../../../../src/ledger/network/port.ts';
import { seenLedgersInMemory } from '../../../../src/ledger/network/seenLedgers.ts';

let nowMs: number;
let ledger: bigint;
let guarded: LedgerNetwork;

beforeEach(() => {
  nowMs = 0;
  const node = {
    ...WHOLE_HISTORY,
    status: async () => ({ ledger, closedAt: 0n }),
    balanceOf: async () => 7n,
  };
  guarded = guardLedgerNumbers(node as unknown as LedgerNetwork, seenLedgersInMemory(), () => nowMs);
});

async function says(number: bigint): Promise<void> {
  ledger = number;
  nowMs += 5_000;
  await guarded.status();
}

it('refuses a node that is behind what two answers have reached', async () => {
  await says(1_000n);
  await says(1_001n);
  await says(988n);
  await expect(says(980n)).rejects.toThrow(NetworkBehind);
});

it('is not misled by one false number', async () => {
  await says(1_000n);
  await says(9_999_999n);
  await says(1_001n);
  await says(1_002n);
  await expect(says(900n)).rejects.toThrow('has seen 1001');
});

it('has no number accepted that one answer alone has said', async () => {
  await says(1_000n);
  await says(1_001n);
  ledger = 9_999_999n;
  expect(await guarded.presentHistory()).toBeNull();
});

it('does not believe what a node that is behind reads', async () => {
  await says(1_000n);
  await says(1_001n);
  expect(await guarded.balanceOf('token', 'holder')).toBe(7n);
  ledger = 900n;
  nowMs += 5_000;
  await expect(guarded.balanceOf('token', 'holder')).rejects.toThrow(NetworkBehind);
});
