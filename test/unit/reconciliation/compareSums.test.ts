/**
 * What custody holds and the network has minted, and what the books say before and after that was read.
 */
import { expect, it } from 'vitest';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { compareSums } from '../../../src/reconciliation/compareSums.ts';

type Sums = Parameters<typeof compareSums>[1];
type Books = Sums['before'];
type Case = [
  what: string,
  network: { minted: bigint; custody: bigint },
  books: { before: Books; after: Books },
  expected: string[],
];

const NO_CALLS = { calls: 0, tonnes: 0n, isMinting: false, review: null };

/** Books of a project of 100 t; all that custody no longer holds is retired. */
function books(inCustody: bigint, more: Partial<Omit<Books, 'underWay'> & Books['underWay']> = {}): Books {
  const { calls, tonnes, isMinting, review, ...rest } = { ...NO_CALLS, ...more };
  const issued = rest.isOpen === false ? 0n : 100n;
  return {
    balances: {
      issued,
      inventory: inCustody - tonnes,
      heldByBuyers: 0n,
      retiring: tonnes,
      retired: issued - inCustody,
    },
    quantityTonnes: 100n,
    isOpen: true,
    ...rest,
    underWay: { calls, tonnes, isMinting, review },
  };
}

const both = (of: Books) => ({ before: of, after: of });
const burning = books(90n, { calls: 1, tonnes: 5n });
const deployed = books(0n, { isOpen: false });
const minting = books(0n, { isOpen: false, calls: 1, isMinting: true });
const heldBy = (kind: 'inventory' | 'heldByBuyers' | 'retiring'): Books => {
  const { balances, ...rest } = books(0n);
  return { ...rest, balances: { ...balances, [kind]: 10n, retired: 90n } };
};

const CASES: readonly Case[] = [
  ['what the books say', { minted: 100n, custody: 90n }, both(books(90n)), []],
  ['what is not sold', { minted: 100n, custody: 10n }, both(heldBy('inventory')), []],
  ['what buyers hold', { minted: 100n, custody: 10n }, both(heldBy('heldByBuyers')), []],
  ['what is held for retirement by no call', { minted: 100n, custody: 10n }, both(heldBy('retiring')), []],
  ['less than the books say', { minted: 100n, custody: 89n }, both(books(90n)), ['I2 found']],
  ['more than the books say', { minted: 100n, custody: 91n }, both(books(90n)), ['I2 gift']],

  ['nothing burned yet', { minted: 100n, custody: 90n }, both(burning), ['I2 UNDER_WAY']],
  ['all that is held burned', { minted: 100n, custody: 85n }, both(burning), ['I2 UNDER_WAY']],
  ['more burned than is held', { minted: 100n, custody: 84n }, both(burning), ['I2 found']],
  ['more than before a burn', { minted: 100n, custody: 91n }, both(burning), ['I2 gift']],
  [
    'what is settled after it was read',
    { minted: 100n, custody: 90n },
    { before: burning, after: books(85n) },
    ['I2 UNDER_WAY'],
  ],
  [
    'what is held while it is read',
    { minted: 100n, custody: 85n },
    { before: books(90n), after: burning },
    ['I2 UNDER_WAY'],
  ],
  [
    'what waits for a review',
    { minted: 100n, custody: 85n },
    both(books(90n, { calls: 1, tonnes: 5n, review: 'it waits' })),
    ['I2 UNDER_REVIEW'],
  ],

  ['a token without a mint', { minted: 0n, custody: 0n }, both(deployed), []],
  ['a mint that no call has made', { minted: 100n, custody: 100n }, both(deployed), ['I2 gift', 'I3 found']],
  ['a mint that has not landed', { minted: 0n, custody: 0n }, both(minting), ['I2 UNDER_WAY']],
  [
    'a mint that has landed',
    { minted: 100n, custody: 100n },
    both(minting),
    ['I2 UNDER_WAY', 'I3 UNDER_WAY'],
  ],
  ['a mint of another amount', { minted: 99n, custody: 99n }, both(minting), ['I3 found', 'I2 UNDER_WAY']],
  [
    'a mint that is settled after it was read',
    { minted: 100n, custody: 100n },
    { before: minting, after: books(100n) },
    [],
  ],
  ['less minted than verified', { minted: 99n, custody: 90n }, both(books(90n)), ['I3 found']],
  ['more minted than verified', { minted: 101n, custody: 90n }, both(books(90n)), ['I3 found']],
  [
    'more verified than booked and minted',
    { minted: 100n, custody: 90n },
    both(books(90n, { quantityTonnes: 110n })),
    ['I3 found'],
  ],
  [
    'more verified and minted than booked',
    { minted: 110n, custody: 90n },
    both(books(90n, { quantityTonnes: 110n })),
    ['I3 found'],
  ],
  [
    'booked and minted, though not open',
    { minted: 100n, custody: 90n },
    both({ ...books(90n), isOpen: false }),
    ['I3 found'],
  ],
];

it.each(CASES)('%s', (_, { minted, custody }, { before, after }, expected) => {
  const retired = after.balances.retired;
  const network = {
    totalSupply: toBaseUnits(minted - retired),
    totalRetired: toBaseUnits(retired),
    totalRetirements: 1,
    custodyBalance: toBaseUnits(custody),
  };
  const project = { id: 'id', tokenAddress: 'token', assetId: 'asset' };
  const { findings, notProved } = compareSums(project, { before, network, after });
  const shown = [
    ...findings.map(({ invariant, isGift }) => `${invariant} ${isGift ? 'gift' : 'found'}`),
    ...notProved.map(({ invariant, obstacle }) => `${invariant} ${obstacle}`),
  ];
  expect(shown).toEqual(expected);
});
