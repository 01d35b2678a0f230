/**
 * What a settlement contract holds of a token, and what open off-ramp sessions say before and after it was
 * read.
 */
import { expect, it } from 'vitest';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { compareHeld } from '../../../src/reconciliation/reconcileReceipts.ts';

type Deposits = Parameters<typeof compareHeld>[2]['before'];
type Case = [
  what: string,
  heldKg: bigint,
  before: Partial<Deposits>,
  after: Partial<Deposits>,
  expected: 'agrees' | 'found' | 'UNDER_WAY' | 'UNDER_REVIEW',
];

const NOTHING: Deposits = { openKg: 0n, comingKg: 0n, leavingKg: 0n, isReviewed: false };
const open = (openKg: bigint, more: Partial<Deposits> = {}) => ({ openKg, ...more });
const coming = { comingKg: 5n };
const leaving = { leavingKg: 5n };

const CASES: readonly Case[] = [
  ['nothing', 0n, {}, {}, 'agrees'],
  ['what the sessions say', 10n, open(10n), open(10n), 'agrees'],
  ['too little', 9n, open(10n), open(10n), 'found'],
  ['too much', 11n, open(10n), open(10n), 'found'],

  ['all of what may come', 15n, open(10n, coming), open(10n, coming), 'UNDER_WAY'],
  ['more than may come', 16n, open(10n, coming), open(10n, coming), 'found'],
  ['nothing of what may come', 10n, open(10n, coming), open(10n, coming), 'agrees'],
  ['what began to come while it was read', 15n, open(10n), open(10n, coming), 'UNDER_WAY'],
  ['what came while it was read', 15n, open(10n, coming), open(15n), 'UNDER_WAY'],
  ['what has come after it was read', 10n, open(10n, coming), open(15n), 'UNDER_WAY'],

  ['nothing of what may leave', 10n, open(10n, leaving), open(10n, leaving), 'UNDER_WAY'],
  ['less than may leave', 4n, open(10n, leaving), open(10n, leaving), 'found'],
  ['what began to leave while it was read', 5n, open(10n), open(10n, leaving), 'UNDER_WAY'],
  ['what left while it was read', 5n, open(10n, leaving), open(5n), 'UNDER_WAY'],
  ['what has left after it was read', 10n, open(10n, leaving), open(5n), 'UNDER_WAY'],

  [
    'the same under review',
    15n,
    open(10n, coming),
    open(10n, { ...coming, isReviewed: true }),
    'UNDER_REVIEW',
  ],
];

it.each(CASES)('%s', (_, heldKg, before, after, expected) => {
  const bounds = { before: { ...NOTHING, ...before }, after: { ...NOTHING, ...after } };
  const { findings, notProved } = compareHeld('the contract', toBaseUnits(heldKg), bounds);
  const shown = [...findings.map(() => 'found'), ...notProved.map(({ obstacle }) => obstacle)];
  expect(shown).toEqual(expected === 'agrees' ? [] : [expected]);
  expect([...findings, ...notProved].every(({ invariant }) => invariant === 'I9')).toBe(true);
});
