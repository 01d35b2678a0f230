/**
 * What an off-ramp session says of its payout, and what its provider answers.
 */
import { expect, it } from 'vitest';
import type { RampSession } from '../../../src/ramp/port.ts';
import { describeOtherFiat } from '../../../src/ramp/quotedFiat.ts';
import { comparePayout } from '../../../src/reconciliation/reconcilePayouts.ts';

type Session = Parameters<typeof comparePayout>[0];
type Case = [
  what: string,
  session: Partial<Session>,
  answer: Partial<RampSession> | null,
  expected: readonly ('I8' | 'I13' | 'I8 UNDER_REVIEW')[],
];

const AT = new Date(0);
const WAITING: Session = {
  id: 'session',
  state: 'AWAITING_PAYOUT',
  providerName: 'manual',
  providerSessionId: 'payout',
  providerStatus: 'pending',
  fiatCurrency: 'KES',
  fiatAmount: '100.00',
  stateReason: null,
  releasedAt: null,
  resolution: null,
  decidedStatuses: [],
  decidedReasons: [],
};
const ANSWER: RampSession = {
  sessionId: 'payout',
  status: 'pending',
  fiat: { currency: 'KES', amount: '100.00' },
};

const otherFiat = { fiat: { currency: 'KES', amount: '99.00' } };
const OTHER_FIAT = describeOtherFiat(WAITING, { ...ANSWER, ...otherFiat }) ?? '';
const settled = { status: 'settled' } as const;
const failed = { status: 'failed' } as const;
const reviewed = (resolution: Session['resolution']) =>
  ({ state: 'NEEDS_REVIEW', releasedAt: AT, resolution }) as const;

const CASES: readonly Case[] = [
  ['the payout', {}, {}, []],
  ['no payout', {}, null, ['I13']],
  ['another payout', {}, { sessionId: 'other' }, ['I13']],
  ['several payouts', {}, { others: 1 }, ['I13']],
  ['another amount', {}, otherFiat, ['I13']],
  ['another amount that an operator has decided about', { decidedReasons: [OTHER_FIAT] }, otherFiat, []],
  ['another amount than was decided about', { decidedReasons: ['another'] }, otherFiat, ['I13']],
  [
    'another amount of a payout that was closed because of it',
    { state: 'CLOSED', stateReason: OTHER_FIAT },
    { ...otherFiat, ...failed },
    [],
  ],
  [
    'another amount of a payout that was closed for another reason',
    { state: 'CLOSED', stateReason: 'expired' },
    { ...otherFiat, ...failed },
    ['I13'],
  ],
  [
    'another amount of a payout that was closed because of it, and is under way',
    { state: 'CLOSED', stateReason: OTHER_FIAT },
    otherFiat,
    ['I13'],
  ],
  [
    'another amount of a payout that waits for the same reason',
    { stateReason: OTHER_FIAT },
    { ...otherFiat, ...failed },
    ['I13'],
  ],

  ['a settlement', { state: 'SETTLED', providerStatus: 'settled' }, settled, []],
  ['a settlement that is not paid any more', { state: 'SETTLED', providerStatus: 'settled' }, failed, ['I8']],
  ['a refund that was paid', { state: 'REFUNDED', providerStatus: 'failed' }, settled, ['I8']],
  ['a closed session that was paid', { state: 'CLOSED', providerStatus: 'failed' }, settled, ['I8']],
  ['a refund', { state: 'REFUNDED', providerStatus: 'failed' }, failed, []],
  ['a payout that was paid and is not released yet', {}, settled, []],
  [
    'what the last poll said, which the database shows',
    { state: 'CLOSED', providerStatus: 'settled' },
    settled,
    [],
  ],
  ['what an operator has decided about', { state: 'REFUNDED', decidedStatuses: ['settled'] }, settled, []],
  ['what no operator has decided about', { state: 'REFUNDED', decidedStatuses: ['failed'] }, settled, ['I8']],

  ['a refund under review that was paid', reviewed('REFUND'), settled, ['I8 UNDER_REVIEW']],
  ['a settlement under review that was paid', reviewed('SETTLE'), settled, []],
  ['a settlement under review that failed', reviewed('SETTLE'), failed, ['I8 UNDER_REVIEW']],
  ['a review before any release', { ...reviewed('REFUND'), releasedAt: null }, settled, []],
];

it.each(CASES)('%s', (_, session, answer, expected) => {
  const { findings, notProved } = comparePayout(
    { ...WAITING, ...session },
    answer && { ...ANSWER, ...answer },
  );
  const shown = [
    ...findings.map(({ invariant }) => invariant),
    ...notProved.map(({ invariant, obstacle }) => `${invariant} ${obstacle}`),
  ];
  expect(shown).toEqual(expected);
});
