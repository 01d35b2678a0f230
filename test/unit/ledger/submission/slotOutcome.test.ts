/**
 * Several attempts in one slot: which of the network's answers decides, and for which attempt.
 */
import { expect, it } from 'vitest';
import {
  NetworkUnavailable,
  type Outcome,
  type SentTransaction,
} from '../../../../src/ledger/network/port.ts';
import { outcomeOfSlot } from '../../../../src/ledger/submission/slotOutcome.ts';

const succeeded: Outcome = { status: 'succeeded', ledger: 7n, result: { kind: 'done' } };
const refused: Outcome = {
  status: 'refused',
  ledger: 7n,
  refusal: { reason: 'PAUSED', message: 'it is paused' },
};
const pending: Outcome = { status: 'pending' };
const undeterminable: Outcome = { status: 'undeterminable', reason: 'history is gone' };
const dead: Outcome = { status: 'dead', proof: 'its sequence was used' };
const diedInVain: Outcome = { status: 'dead', proof: 'it landed without effect', cause: 'outOfGas' };

/** Decides from outcomes by number of the attempt, oldest first. */
function decide(outcomes: readonly (Outcome | Error)[]) {
  const open = outcomes.map((_, i): SentTransaction => ({
    hash: String(i),
    source: 'C',
    sequence: 5n,
    validUntil: null,
    preparedAtLedger: 1n,
  }));
  const outcome = async ({ hash }: SentTransaction) => {
    const answer = outcomes[Number(hash)];
    if (answer === undefined || answer instanceof Error)
      throw answer ?? new Error(`nothing is known of ${hash}`);
    return answer;
  };
  return outcomeOfSlot({ outcome }, open);
}

it.each([
  ['one that landed', succeeded, [pending, dead, undeterminable]],
  ['one that landed and was refused', refused, [pending, dead, undeterminable]],
  ['one that can still land', pending, [dead, diedInVain, undeterminable]],
  ['one that may have landed', undeterminable, [dead, diedInVain]],
  ['one that was paid for in vain', diedInVain, [dead]],
])('is decided by %s', async (_name, deciding, others) => {
  for (const other of others) {
    expect(await decide([deciding, other])).toMatchObject({ attempt: { hash: '0' }, outcome: deciding });
    expect(await decide([other, deciding])).toMatchObject({ attempt: { hash: '1' }, outcome: deciding });
  }
});

it('is about the oldest of those of which the same is said', async () => {
  for (const outcome of [succeeded, refused, pending, undeterminable, dead]) {
    expect(await decide([outcome, outcome])).toMatchObject({ attempt: { hash: '0' } });
  }
});

it('is unknown while any of them is', async () => {
  const unknown = new NetworkUnavailable('connection refused');
  await expect(decide([unknown, dead])).rejects.toThrow(unknown);
});
