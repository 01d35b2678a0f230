/**
 * The tokens that custody has deployed, by a Stellar node that shows only a part of its events.
 */
import { Address, Keypair, xdr } from '@stellar/stellar-sdk';
import { expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../../../src/ledger/network/port.ts';
import {
  mayBeDeployedBy,
  tokenFactory,
  tokensDeployedSince,
} from '../../../../../src/ledger/network/stellar/deployments.ts';
import type { StellarNode } from '../../../../../src/ledger/network/stellar/node.ts';
import type { EventPage } from '../../../../../src/ledger/network/stellar/nodeAnswers.ts';

const DEPLOYER = Keypair.random().publicKey();
const FACTORY = Address.contract(Buffer.alloc(32, 1)).toString();
const TOKEN = Address.contract(Buffer.alloc(32, 2)).toString();

const deployed: EventPage['events'][number] = {
  value: xdr.ScVal.scvVec([TOKEN, DEPLOYER].map((address) => new Address(address).toScVal())),
  txHash: '',
};

/** A node at ledger 100 that answers with these pages in turn, and repeats the last one. */
function since(ledger: bigint, ...pages: EventPage[]): Promise<string[]> {
  const node: Pick<StellarNode, 'ledgerState' | 'events'> = {
    ledgerState: async () => ({ oldestLedger: 1n, latestLedger: 100n, closedAt: 0n }),
    async events() {
      const page = pages.length > 1 ? pages.shift() : pages[0];
      if (!page) throw new Error('there is no page');
      return page;
    },
  };
  return tokensDeployedSince(node as StellarNode, { factory: FACTORY, deployer: DEPLOYER, ledger });
}

const page = (
  latestLedger: bigint,
  events: EventPage['events'],
  { isLast }: { isLast: boolean },
): EventPage => ({
  latestLedger,
  cursor: 'a',
  isLast,
  events,
});

it('are all when there is nothing after the last page', async () => {
  const first = page(100n, [deployed], { isLast: false });
  expect(await since(50n, first, page(101n, [], { isLast: true }))).toEqual([TOKEN]);
  expect(await since(50n, page(100n, [deployed], { isLast: true }))).toEqual([TOKEN]);
  expect(await since(101n)).toEqual([]);
});

it('are unknown when the node has not come to that ledger', async () => {
  await expect(since(102n)).rejects.toThrow(NetworkUnavailable);
});

it('are unknown when each page is followed by another one', async () => {
  await expect(since(50n, page(100n, [deployed], { isLast: false }))).rejects.toThrow(NetworkUnavailable);
});

/**
 * A node that searches ten thousand ledgers for each page, or one whose events fill the page, and closes a
 * ledger with each answer.
 */
function keepsLedgers(ledgers: bigint, deployedAt: bigint, eventsInPage = 0): StellarNode {
  let latestLedger = 1_000_000n;
  const node: Pick<StellarNode, 'ledgerState' | 'events'> = {
    async ledgerState() {
      latestLedger += 1n;
      return { oldestLedger: latestLedger - ledgers, latestLedger, closedAt: 0n };
    },
    async events({ start }) {
      latestLedger += 1n;
      const from = 'ledger' in start ? start.ledger : BigInt(start.cursor);
      if (from < latestLedger - ledgers) throw new NetworkUnavailable('startLedger must be within the range');
      const until = from + (eventsInPage > 0 ? 1n : 10_000n);
      const events = Array.from({ length: eventsInPage }, () => other);
      if (from <= deployedAt && deployedAt < until) events.push(deployed);
      return { latestLedger, cursor: `${until}`, isLast: until > latestLedger, events };
    },
  };
  return node as StellarNode;
}

const other: EventPage['events'][number] = { value: xdr.ScVal.scvVoid(), txHash: '' };
const mayBeBy = (node: StellarNode, deployer: string) =>
  mayBeDeployedBy(node, tokenFactory(FACTORY), { contract: TOKEN, deployer });

it.each([
  ['a day', 17_280n],
  ['a week', 120_960n],
  ['a quarter', 1_555_200n],
])('are a stranger’s where a node that keeps %s shows that it was the deployer', async (_, ledgers) => {
  const node = keepsLedgers(ledgers, 990_000n);
  expect(await mayBeBy(node, Keypair.random().publicKey())).toBe(false);
  expect(await mayBeBy(node, DEPLOYER)).toBe(true);
});

it('are unknown when the factory has more events than are read', async () => {
  await expect(mayBeBy(keepsLedgers(17_280n, 990_000n, 1_000), DEPLOYER)).rejects.toThrow('too many deploys');
});
