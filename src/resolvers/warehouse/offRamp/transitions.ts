/**
 * Transition table of an off-ramp session: the next state for each state and event, and the call that is
 * enqueued with the move. `applyEvent` is the only writer of a session's state and follows this table. The
 * trigger off_ramp_sessions_rules allows exactly the same moves, and the diagrams in docs/ are printed from
 * this table (`npm run docs:states`).
 */
import { offRampState } from '../../../db/tables/index.ts';
import type { OffRampSession, OffRampState } from './findOffRampSession.ts';

export type Depositor = OffRampSession['depositor'];

/** Events of a session, with their labels in the diagrams. */
export const EVENTS = {
  opened: 'open at the provider',
  providerFailed: 'failed by the provider',
  openingStopped: 'refused (may be open)',
  openingEnded: 'refused, or not open in time',
  signed: 'signed',
  deposited: 'deposit final',
  depositRefused: 'deposit refused',
  depositGoesOn: 'deposit goes on',
  signingOver: 'time is over',
  referenceUsed: 'reference used up',
  closed: 'closed at the provider',
  closedDeposited: 'closed over another deposit',
  paid: 'paid',
  notPaid: 'not paid',
  released: 'release final',
  releaseGoesOn: 'release goes on',
  pauseOver: 'pause over',
  /** For whatever reason: the review has it. */
  undecidable: 'no rule decides',
  cancelled: 'cancelled',
  retried: 'RETRY',
  decidedToConfirm: 'CONFIRM',
  decidedToRefund: 'REFUND',
  acceptedUndeposited: 'ACCEPT (no deposit)',
  acceptedSettled: 'ACCEPT (released)',
  acceptedRefunded: 'ACCEPT (refunded)',
} as const;
export type OffRampEvent = keyof typeof EVENTS;

/**
 * Facts that decide between the rows of one event. They are read from the locked row, except `isUnderWay`,
 * which the caller passes.
 */
export interface Facts {
  /**
   * Whether a reason to end the session is stored: it was refused, cancelled or ran out. Decides in state
   * OPENING.
   */
  isStopped: boolean;
  isPaid: boolean;
  isFailed: boolean;
  isDeposited: boolean;
  /** Whether its cancellation was requested; it may still be paid. */
  isCancelled: boolean;
  resolution: OffRampSession['resolution'];
  /** Whether a submission of its deposit, or of the allowance for it, is under way. */
  isUnderWay: boolean;
}

/**
 * Network calls that a move enqueues.
 * - deposit: custody sends the tokens to the settlement contract.
 * - release: the tokens leave the settlement contract, as `resolution` says.
 */
type OffRampEffect = 'deposit' | 'release';

export interface Transition {
  depositor: Depositor | 'ANY';
  from: OffRampState;
  event: OffRampEvent;
  when: Partial<Facts>;
  next: OffRampState;
  effect: OffRampEffect | null;
}

type Row = readonly [
  depositor: Transition['depositor'],
  from: OffRampState,
  event: OffRampEvent,
  when: Partial<Facts>,
  next: OffRampState,
  effect?: OffRampEffect,
];

// prettier-ignore
const ROWS: readonly Row[] = [
  ['ANY',     'OPENING',            'opened',              { isStopped: true },            'CLOSING'],
  ['CUSTODY', 'OPENING',            'opened',              { isStopped: false },           'DEPOSITING', 'deposit'],
  ['HOLDER',  'OPENING',            'opened',              { isStopped: false },           'AWAITING_SIGNATURE'],
  ['ANY',     'OPENING',            'providerFailed',      {},                             'CLOSING'],
  ['ANY',     'OPENING',            'openingStopped',      {},                             'OPENING'],
  ['ANY',     'OPENING',            'openingEnded',        {},                             'CLOSED'],

  ['HOLDER',  'AWAITING_SIGNATURE', 'signed',              {},                             'DEPOSITING'],
  ['HOLDER',  'AWAITING_SIGNATURE', 'deposited',           {},                             'AWAITING_PAYOUT'],
  ['HOLDER',  'AWAITING_SIGNATURE', 'providerFailed',      {},                             'CLOSING'],
  ['HOLDER',  'AWAITING_SIGNATURE', 'signingOver',         {},                             'CLOSING'],
  ['HOLDER',  'AWAITING_SIGNATURE', 'referenceUsed',       {},                             'CLOSING'],

  ['ANY',     'DEPOSITING',         'deposited',           {},                             'AWAITING_PAYOUT'],
  ['CUSTODY', 'DEPOSITING',         'depositRefused',      { isPaid: false },              'CLOSING'],
  // The holder may sign another deposit before the deadline.
  ['HOLDER',  'DEPOSITING',         'depositRefused',      { isPaid: false, isCancelled: false },                 'AWAITING_SIGNATURE'],
  ['HOLDER',  'DEPOSITING',         'depositRefused',      { isPaid: false, isCancelled: true },                  'CLOSING'],
  ['ANY',     'DEPOSITING',         'depositRefused',      { isPaid: true },               'NEEDS_REVIEW'],
  ['HOLDER',  'DEPOSITING',         'signingOver',         {},                             'CLOSING'],

  ['ANY',     'CLOSING',            'closed',              {},                             'CLOSED'],
  ['ANY',     'CLOSING',            'deposited',           {},                             'AWAITING_PAYOUT'],
  // The deposit is not as agreed, but consists of the depositor's own tokens.
  ['HOLDER',  'CLOSING',            'closedDeposited',     {},                             'REFUNDING',  'release'],
  // Any other payout before a final deposit is undecidable.
  ['CUSTODY', 'CLOSING',            'paid',                { isCancelled: false },         'DEPOSITING', 'deposit'],

  ['ANY',     'AWAITING_PAYOUT',    'paid',                {},                             'CONFIRMING', 'release'],
  ['ANY',     'AWAITING_PAYOUT',    'notPaid',             {},                             'REFUNDING',  'release'],

  // A cancellation is a request to the provider, whose answer decides: ended, refunded, or paid after all.
  ['ANY',     'OPENING',            'cancelled',           { isPaid: false },              'OPENING'],
  ['HOLDER',  'AWAITING_SIGNATURE', 'cancelled',           { isPaid: false },              'CLOSING'],
  // Custody's call that is under way is awaited: its kilograms stay promised until the call has an outcome.
  ['CUSTODY', 'DEPOSITING',         'cancelled',           { isPaid: false, isUnderWay: true },                   'DEPOSITING'],
  ['CUSTODY', 'DEPOSITING',         'cancelled',           { isPaid: false, isUnderWay: false },                  'CLOSING'],
  // A holder's signed deposit may stay pending indefinitely; if it lands, it is given back.
  ['HOLDER',  'DEPOSITING',         'cancelled',           { isPaid: false },              'CLOSING'],
  ['ANY',     'CLOSING',            'cancelled',           { isPaid: false },              'CLOSING'],
  ['ANY',     'AWAITING_PAYOUT',    'cancelled',           { isPaid: false },              'AWAITING_PAYOUT'],

  ['ANY',     'CONFIRMING',         'released',            {},                             'SETTLED'],
  ['ANY',     'REFUNDING',          'released',            {},                             'REFUNDED'],

  // The provider shows the session after its end here: the next poll closes it at the provider.
  ['ANY',     'CLOSED',             'opened',              {},                             'CLOSED'],
  // The deposit came after the session was closed.
  ['ANY',     'CLOSED',             'deposited',           { isFailed: true },             'REFUNDING',  'release'],
  ['ANY',     'CLOSED',             'deposited',           { isFailed: false },            'NEEDS_REVIEW'],

  // The network's outcome decides instead of an operator.
  ['ANY',     'NEEDS_REVIEW',       'deposited',           { isDeposited: false },         'AWAITING_PAYOUT'],
  ['ANY',     'NEEDS_REVIEW',       'depositRefused',      { isDeposited: false, isPaid: false },                 'CLOSING'],
  ['CUSTODY', 'NEEDS_REVIEW',       'depositRefused',      { isDeposited: false, isPaid: true },                  'NEEDS_REVIEW'],
  ['ANY',     'NEEDS_REVIEW',       'depositGoesOn',       { isDeposited: false },         'DEPOSITING'],
  ['ANY',     'NEEDS_REVIEW',       'released',            { resolution: 'SETTLE' },       'SETTLED'],
  ['ANY',     'NEEDS_REVIEW',       'released',            { resolution: 'REFUND' },       'REFUNDED'],
  ['ANY',     'NEEDS_REVIEW',       'releaseGoesOn',       { resolution: 'SETTLE' },       'CONFIRMING'],
  ['ANY',     'NEEDS_REVIEW',       'releaseGoesOn',       { resolution: 'REFUND' },       'REFUNDING'],
  ['ANY',     'NEEDS_REVIEW',       'pauseOver',           { resolution: 'SETTLE' },       'CONFIRMING', 'release'],
  ['ANY',     'NEEDS_REVIEW',       'pauseOver',           { resolution: 'REFUND' },       'REFUNDING',  'release'],
  // An operator decides.
  ['CUSTODY', 'NEEDS_REVIEW',       'retried',             { isDeposited: false, isPaid: true },                  'DEPOSITING', 'deposit'],
  ['HOLDER',  'NEEDS_REVIEW',       'retried',             { isDeposited: false, isPaid: true, isUnderWay: true },  'DEPOSITING'],
  ['HOLDER',  'NEEDS_REVIEW',       'retried',             { isDeposited: false, isPaid: true, isUnderWay: false }, 'AWAITING_SIGNATURE'],
  ['ANY',     'NEEDS_REVIEW',       'retried',             { isDeposited: false, isPaid: false },                 'CLOSING'],
  ['ANY',     'NEEDS_REVIEW',       'retried',             { isDeposited: true, resolution: null },               'AWAITING_PAYOUT'],
  ['ANY',     'NEEDS_REVIEW',       'retried',             { isDeposited: true, resolution: 'SETTLE' },           'CONFIRMING', 'release'],
  ['ANY',     'NEEDS_REVIEW',       'retried',             { isDeposited: true, resolution: 'REFUND' },           'REFUNDING',  'release'],
  ['ANY',     'NEEDS_REVIEW',       'decidedToConfirm',    {},                             'CONFIRMING', 'release'],
  ['ANY',     'NEEDS_REVIEW',       'decidedToRefund',     {},                             'REFUNDING',  'release'],
  ['ANY',     'NEEDS_REVIEW',       'acceptedUndeposited', { isDeposited: false },         'CLOSED'],
  ['ANY',     'NEEDS_REVIEW',       'acceptedSettled',     {},                             'SETTLED'],
  ['ANY',     'NEEDS_REVIEW',       'acceptedRefunded',    {},                             'REFUNDED'],
];

/** States in which the provider decides next, or will decide later. Only the network ends a release. */
export const WAITING_FOR_PROVIDER: readonly OffRampState[] = [
  'OPENING',
  'AWAITING_SIGNATURE',
  'DEPOSITING',
  'AWAITING_PAYOUT',
  'CLOSING',
];

export const TRANSITIONS: readonly Transition[] = [
  ...ROWS,
  ...offRampState.enumValues.map((from): Row => [whoIn(from), from, 'undecidable', {}, 'NEEDS_REVIEW']),
].map(([depositor, from, event, when, next, effect = null]) => ({
  depositor,
  from,
  event,
  when,
  next,
  effect,
}));

/** AWAITING_SIGNATURE exists for holders only: custody signs its own deposits. */
function whoIn(state: OffRampState): Transition['depositor'] {
  return state === 'AWAITING_SIGNATURE' ? 'HOLDER' : 'ANY';
}

type FactFields = 'stateReason' | 'providerStatus' | 'depositedAt' | 'cancelRequestedAt' | 'resolution';

export function factsOf(session: Pick<OffRampSession, FactFields>, isUnderWay: boolean): Facts {
  const { providerStatus, resolution } = session;
  return {
    isStopped: session.stateReason !== null,
    isPaid: providerStatus === 'settled',
    isFailed: providerStatus === 'failed',
    isDeposited: session.depositedAt !== null,
    isCancelled: session.cancelRequestedAt !== null,
    resolution,
    isUnderWay,
  };
}

/** Finds the rows for an event; exactly one, unless the caller or the table has a defect. */
export function matchingTransitions(
  depositor: Depositor,
  from: OffRampState,
  event: OffRampEvent,
  facts: Facts,
): Transition[] {
  return TRANSITIONS.filter(
    (row) =>
      row.event === event &&
      row.from === from &&
      (row.depositor === 'ANY' || row.depositor === depositor) &&
      Object.entries(row.when).every(([fact, value]) => facts[fact as keyof Facts] === value),
  );
}
