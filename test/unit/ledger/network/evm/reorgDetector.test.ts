import { beforeEach, expect, it } from 'vitest';
import { createFinality, type Finality } from '../../../../../src/ledger/network/evm/finality.ts';
import type { Question } from '../../../../../src/ledger/network/evm/jsonRpc.ts';
import { createReorgDetector } from '../../../../../src/ledger/network/evm/reorgDetector.ts';
import { ReorgUnconfirmed } from '../../../../../src/ledger/network/port.ts';

const TRUE_HASH = `0x${'a'.repeat(64)}`;
const OTHER_HASH = `0x${'b'.repeat(64)}`;

let nowMs: number;
let hash: string;
let finality: Finality;
beforeEach(async () => {
  nowMs = 0;
  hash = TRUE_HASH;
  const answer = ({ method, read }: Question<unknown>) => ({
    value: read(
      method === 'eth_getBlockByNumber' ? { number: '0x7', hash, timestamp: '0x1', gasLimit: '0x1' } : '0x0',
    ),
  });
  const rpc = { askTogether: async (all: Question<unknown>[]) => all.map(answer) } as never;
  finality = createFinality(
    rpc,
    { confirmations: 0 },
    undefined,
    createReorgDetector({ nowMs: () => nowMs }),
  );
  await finality.pin();
});

async function seenAt(ms: number, shown: string): Promise<string> {
  nowMs = ms;
  hash = shown;
  try {
    return (await finality.continuity()).status;
  } catch (error) {
    expect(error).toBeInstanceOf(ReorgUnconfirmed);
    return 'no answer';
  }
}

it('is no answer at first, and over when the node shows the final block again', async () => {
  expect(await seenAt(1_000, OTHER_HASH)).toBe('no answer');
  await expect(finality.requireContinuity()).rejects.toThrow(
    /as block 7, .* asked again before that is believed/,
  );
  expect(await seenAt(5_900, OTHER_HASH)).toBe('no answer');
  expect(await seenAt(6_000, TRUE_HASH)).toBe('whole');
});

it('is confirmed when it is seen again after five seconds, whatever another node said between', async () => {
  expect(await seenAt(1_000, OTHER_HASH)).toBe('no answer');
  expect(await seenAt(3_000, TRUE_HASH)).toBe('whole');
  expect(await seenAt(6_000, OTHER_HASH)).toBe('rewritten');
  expect(await seenAt(6_001, OTHER_HASH)).toBe('rewritten');
});

it('keeps anything from being signed by another node’s word meanwhile', async () => {
  expect(await seenAt(1_000, OTHER_HASH)).toBe('no answer');
  expect(await seenAt(3_000, TRUE_HASH)).toBe('whole');
  await expect(finality.requireContinuity()).rejects.toThrow(ReorgUnconfirmed);
  expect(await seenAt(6_000, TRUE_HASH)).toBe('whole');
  await expect(finality.requireContinuity()).resolves.toBeUndefined();
});

it('is confirmed however long a node takes to answer, when none contradicts it', async () => {
  expect(await seenAt(1_000, OTHER_HASH)).toBe('no answer');
  expect(await seenAt(61_000, OTHER_HASH)).toBe('rewritten');
});

it('starts anew when it was contradicted, and not seen for long', async () => {
  expect(await seenAt(1_000, OTHER_HASH)).toBe('no answer');
  expect(await seenAt(2_000, TRUE_HASH)).toBe('whole');
  expect(await seenAt(31_001, OTHER_HASH)).toBe('no answer');
  expect(await seenAt(36_001, OTHER_HASH)).toBe('rewritten');
});
