/**
 * The transactions of a Stellar token's retirement records, by what the node is asked for them.
 */
import { Address } from '@stellar/stellar-sdk';
import { expect, it } from 'vitest';
import type { StellarNode } from '../../../../../src/ledger/network/stellar/node.ts';
import { retirementTransactions } from '../../../../../src/ledger/network/stellar/retirementTransactions.ts';

const TOKEN = Address.contract(Buffer.alloc(32, 1)).toString();
const STATE = { oldestLedger: 1n, latestLedger: 100n, closedAt: 1_000n };

/** Asks a node at ledger 100, which has no transaction and no event. */
async function askedFor(record: { timestamp: bigint; hints: string[] }) {
  const asked = { transactions: 0, eventsFrom: [] as unknown[] };
  const node: Pick<StellarNode, 'ledgerState' | 'transaction' | 'events'> = {
    ledgerState: async () => STATE,
    async transaction() {
      asked.transactions += 1;
      return { ...STATE, status: 'NOT_FOUND' };
    },
    async events({ start }) {
      asked.eventsFrom.push(start);
      return { events: [], latestLedger: 100n, cursor: '', isLast: true };
    },
  };
  const deps = { node: node as StellarNode, passphrase: 'a network' };
  expect(await retirementTransactions(deps, TOKEN, [{ index: 0, ...record }])).toEqual(new Map());
  return asked;
}

it('are looked for by 40 hints at most, however many a record has', async () => {
  const hints = Array.from({ length: 50 }, (_, at) => at.toString(16).padStart(64, '0'));
  expect((await askedFor({ timestamp: 1_000n, hints })).transactions).toBe(40);
});

it('are looked for in all kept events, not past the last ledger, when the record is newer than it', async () => {
  const { eventsFrom } = await askedFor({ timestamp: 2_000n, hints: [] });
  expect(eventsFrom).toEqual([{ ledger: 2n }]);
});
