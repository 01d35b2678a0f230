/**
 * Searches of ledgers for the transaction that used a sequence, which continue where they stopped.
 */
import { expect, it } from 'vitest';
import {
  createUnfinishedSearches,
  findUserOfSequence,
} from '../../../../../src/ledger/network/stellar/sequenceUse.ts';

it('continues where it stopped, also after a thousand searches that never continued', async () => {
  let page = 0;
  const starts: unknown[] = [];
  const envelope = { switch: () => ({ name: 'envelopeTypeTxV0' }) };
  const node = {
    transactionsFrom: async (start: unknown) => {
      starts.push(start);
      page += 1;
      const transactions = [{ ledger: 60n, closedAt: 1n, envelope }];
      return { transactions, cursor: `page ${page}`, latestLedger: 999n };
    },
  };
  const deps = { node, passphrase: 'a test', unfinishedSearches: createUnfinishedSearches() };
  const search = (hash: string) =>
    findUserOfSequence(
      deps as never,
      { hash, source: 'G', sequence: 7n },
      { first: 50n, last: 99n, closedUntil: null },
    );
  for (let i = 0; i < 1_000; i++) await search(`leftover ${i}`);
  expect(await search('last')).toEqual({ status: 'unfinished' });
  const stoppedAt = `page ${page}`;
  starts.length = 0;
  await search('last');
  expect(starts[0]).toEqual({ cursor: stoppedAt });
});
