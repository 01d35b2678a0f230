/**
 * The accounts' sequences as the network reports them, and a node that calls a landed sequence unused: what
 * proves that the sequence is lost and that the node is not merely behind.
 */
import { expect, it, vi } from 'vitest';
import { NetworkUnavailable, type LedgerNetwork } from '../../../../src/ledger/network/port.ts';
import { confirmMismatch, readSequences } from '../../../../src/ledger/submission/knownHistory.ts';
import { SequenceAhead, SequenceBehind } from '../../../../src/ledger/submission/sequenceMismatch.ts';

const landed = new SequenceBehind('C', { sequence: 5n, ledger: 9n });

function nodeAt(ledger: bigint, nextFinal: bigint): Pick<LedgerNetwork, 'status' | 'nextSequences'> {
  return {
    status: async () => ({ ledger, closedAt: 0n, oldestLedger: 1n }),
    nextSequences: async (at) => new Map([['C', at === 'final' ? nextFinal : 0n]]),
  };
}

const confirm = (node: ReturnType<typeof nodeAt>, mismatch = landed) =>
  confirmMismatch({ network: node as LedgerNetwork }, mismatch);

it('is proved by a node that has the ledger, and in whose final state it is unused', async () => {
  await expect(confirm(nodeAt(9n, 5n))).resolves.toBeUndefined();
  await expect(confirm(nodeAt(12n, 3n))).resolves.toBeUndefined();
});

it('is not proved by a node that is behind, nor where it is used finally', async () => {
  await expect(confirm(nodeAt(8n, 5n))).rejects.toThrow(NetworkUnavailable);
  await expect(confirm(nodeAt(9n, 6n))).rejects.toThrow(NetworkUnavailable);
});

it('is not asked about where a higher sequence is the mismatch: no node makes that up', async () => {
  const away = { status: () => Promise.reject(new Error('asked')) } as unknown as LedgerNetwork;
  await expect(
    confirmMismatch({ network: away }, new SequenceAhead('C', 'it is ahead')),
  ).resolves.toBeUndefined();
});

it.each([
  ['once where what waits does not show', 90, ['latest']],
  ['for what waits too where it shows', undefined, ['latest', 'waiting']],
])('asks for the sequences %s', async (_when, landsUnseenForSeconds, asked) => {
  const nextSequences = vi.fn<LedgerNetwork['nextSequences']>(async () => new Map([['C', 7n]]));
  const signingOrder = {
    accounts: ['C'],
    maxOpenPerAccount: 1,
    ...(landsUnseenForSeconds && { landsUnseenForSeconds }),
  };
  const { latest, waiting } = await readSequences({
    network: { signingOrder, nextSequences } as unknown as LedgerNetwork,
  });
  expect(nextSequences.mock.calls.flat()).toEqual(asked);
  expect([latest.get('C'), waiting.get('C')]).toEqual([7n, 7n]);
});

it('counts as sent what either answer shows as sent', async () => {
  const answers = {
    latest: new Map([
      ['C', 7n],
      ['D', 3n],
      ['E', 0n],
    ]),
    waiting: new Map([
      ['C', 9n],
      ['D', 2n],
    ]),
  };
  const nextSequences = async (by: keyof typeof answers) => answers[by];
  const network = { signingOrder: { accounts: [], maxOpenPerAccount: 1 }, nextSequences };
  const { latest, waiting } = await readSequences({ network: network as unknown as LedgerNetwork });
  expect(latest).toBe(answers.latest);
  expect(waiting).toEqual(
    new Map([
      ['C', 9n],
      ['D', 3n],
      ['E', 0n],
    ]),
  );
});
