/**
 * The tokens that custody has deployed, by a Stellar node that shows only a part of its events.
 */
import { Address, Keypair, xdr } from '@stellar/stellar-sdk';
import { expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../../../src/ledger/network/port.ts';
import { tokensDeployedSince } from '../../../../../src/ledger/network/stellar/deployments.ts';
import type { EventPage, StellarNode } from '../../../../../src/ledger/network/stellar/node.ts';

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
