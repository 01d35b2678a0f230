/**
 * What an off-ramp session says of its deposit, and what the settlement contract shows.
 */
import { expect, it } from 'vitest';
import type { OffRampDeposit } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { compareDeposit } from '../../../src/reconciliation/reconcileDeposits.ts';

type Session = Parameters<typeof compareDeposit>[1];
type Case = [
  what: string,
  session: Partial<Session>,
  deposit: Partial<OffRampDeposit> | null,
  expected: 'agrees' | 'found' | 'UNDER_WAY' | 'UNDER_REVIEW',
  options?: { isStill: boolean },
];

const AT = new Date(0);
const DEPOSITED: Session = {
  id: 'session',
  state: 'AWAITING_PAYOUT',
  tokenAddress: 'token',
  tokenAmountKg: 100n,
  depositorAddress: 'custody',
  settlementAddress: 'settlement',
  depositor: 'CUSTODY',
  providerSessionId: 'payout',
  depositedAt: AT,
  releasedAt: null,
  resolution: null,
  isUnderWay: false,
  isDepositOfAnother: false,
  isAccepted: false,
  isLossAccepted: false,
};
const FOUND: OffRampDeposit = {
  status: 'PENDING',
  depositor: 'custody',
  tokenAddress: 'token',
  amount: toBaseUnits(100n),
};

const undeposited = (more: Partial<Session> = {}) =>
  ({ state: 'CLOSED', depositedAt: null, ...more }) as const;
const released = (state: Session['state'], resolution: Session['resolution']) =>
  ({ state, resolution, releasedAt: AT }) as const;
const accepted = (...end: Parameters<typeof released>) => ({ ...released(...end), isAccepted: true });
const settled = { status: 'SETTLED' } as const;
const refunded = { status: 'REFUNDED' } as const;
const STILL = { isStill: true };
const GIVEN_BACK = { depositor: 'HOLDER', state: 'REFUNDING', resolution: 'REFUND' } as const;
const OTHERS_AMOUNT = { amount: 1n };

const CASES: readonly Case[] = [
  ['a deposit that waits for its payout', {}, {}, 'agrees'],
  ['no deposit', {}, null, 'found'],
  ['another depositor', {}, { depositor: 'stranger' }, 'found'],
  ['another token', {}, { tokenAddress: 'other' }, 'found'],
  ['another amount', {}, OTHERS_AMOUNT, 'found'],

  ['a release that nothing has asked for', {}, settled, 'found'],
  ['a release by a call under way', { isUnderWay: true }, settled, 'UNDER_WAY'],
  ['the same under review', { isUnderWay: true, state: 'NEEDS_REVIEW' }, settled, 'UNDER_REVIEW'],
  ['the same where no call is on its way', { isUnderWay: true }, settled, 'found', STILL],
  ['a call under way that has not landed', { isUnderWay: true }, {}, 'agrees'],

  ['a settlement', released('SETTLED', 'SETTLE'), settled, 'agrees'],
  ['a settlement that was refunded', released('SETTLED', 'SETTLE'), refunded, 'found'],
  ['a settlement that is not there', { ...released('SETTLED', 'SETTLE'), isUnderWay: true }, {}, 'found'],
  ['a refund', released('REFUNDED', 'REFUND'), refunded, 'agrees'],
  ['a refund that was settled', { ...released('REFUNDED', 'REFUND'), isUnderWay: true }, settled, 'found'],
  ['an end other than was decided', released('REFUNDED', 'SETTLE'), refunded, 'agrees'],
  ['a release under review', released('NEEDS_REVIEW', 'SETTLE'), settled, 'agrees'],
  ['another release under review', released('NEEDS_REVIEW', 'REFUND'), settled, 'found'],
  ['an undecided refund', released('NEEDS_REVIEW', null), refunded, 'agrees'],
  ['an undecided settlement', released('NEEDS_REVIEW', null), settled, 'agrees'],
  ['an undecided release that is not there', released('NEEDS_REVIEW', null), {}, 'found'],

  ["a holder's other amount that is given back", GIVEN_BACK, OTHERS_AMOUNT, 'UNDER_WAY'],
  ['the same before it is decided', { ...GIVEN_BACK, resolution: null }, OTHERS_AMOUNT, 'found'],
  ["the same of custody's deposit", { ...GIVEN_BACK, depositor: 'CUSTODY' }, OTHERS_AMOUNT, 'found'],
  ['the same of another token', GIVEN_BACK, { tokenAddress: 'other' }, 'found'],
  ['the same once it was settled', GIVEN_BACK, { ...OTHERS_AMOUNT, ...settled }, 'found'],
  [
    'another amount that was refunded',
    { ...GIVEN_BACK, ...released('REFUNDED', 'REFUND') },
    { ...OTHERS_AMOUNT, ...refunded },
    'agrees',
  ],

  [
    "a holder's other amount that another program settled, and that was accepted",
    { ...GIVEN_BACK, ...accepted('SETTLED', 'REFUND') },
    { ...OTHERS_AMOUNT, ...settled },
    'agrees',
  ],
  [
    'the same that no operator accepted',
    { ...GIVEN_BACK, ...released('SETTLED', 'REFUND') },
    { ...OTHERS_AMOUNT, ...settled },
    'found',
  ],
  [
    'the same that was settled here',
    { ...GIVEN_BACK, ...accepted('SETTLED', 'SETTLE') },
    { ...OTHERS_AMOUNT, ...settled },
    'found',
  ],
  ["the same of custody's deposit", accepted('SETTLED', null), { ...OTHERS_AMOUNT, ...settled }, 'found'],
  ['the same that is not released', { ...GIVEN_BACK, ...accepted('SETTLED', null) }, OTHERS_AMOUNT, 'found'],
  [
    'the loss of a deposit, accepted',
    { ...accepted('REFUNDED', null), isLossAccepted: true },
    null,
    'agrees',
  ],
  ['the loss of one that was shown, and accepted', accepted('REFUNDED', null), null, 'found'],
  ['a refund of a deposit that is not there', released('REFUNDED', 'REFUND'), null, 'found'],
  ['a settlement of one, accepted', accepted('SETTLED', 'SETTLE'), null, 'found'],

  ['nothing deposited, and nothing there', undeposited(), null, 'agrees'],
  ['a deposit of a closed session', undeposited(), {}, 'found'],
  ['a deposit that lands', undeposited({ state: 'DEPOSITING', isUnderWay: true }), {}, 'UNDER_WAY'],
  ['the same where no call is on its way', undeposited({ isUnderWay: true }), {}, 'found', STILL],
  ["a holder's deposit after the end", undeposited({ depositor: 'HOLDER' }), {}, 'UNDER_WAY'],
  ["a holder's deposit that was released unseen", undeposited({ depositor: 'HOLDER' }), settled, 'found'],
  ['the deposit of another session with its id', undeposited({ isDepositOfAnother: true }), {}, 'agrees'],
  ["a stranger's deposit with its id", undeposited(), { depositor: 'stranger' }, 'agrees'],
];

it.each(CASES)('%s', (_, session, deposit, expected, options = { isStill: false }) => {
  const { findings, notProved } = compareDeposit(
    options,
    { ...DEPOSITED, ...session },
    deposit && { ...FOUND, ...deposit },
  );
  const shown = [...findings.map(() => 'found'), ...notProved.map(({ obstacle }) => obstacle)];
  expect(shown).toEqual(expected === 'agrees' ? [] : [expected]);
  expect([...findings, ...notProved].every(({ invariant }) => invariant === 'I13')).toBe(true);
});
