/**
 * The table of an off-ramp session's states, tested alone: it is complete, and each event has one meaning.
 */
import { describe, expect, it } from 'vitest';
import { offRampState } from '../../../../src/db/tables/index.ts';
import type { OffRampState } from '../../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import {
  EVENTS,
  matchingTransitions,
  TRANSITIONS,
  type Depositor,
  type Facts,
  type OffRampEvent,
} from '../../../../src/resolvers/warehouse/offRamp/transitions.ts';
import { possibleFacts } from '../../../support/offRampFacts.ts';

const DEPOSITORS: readonly Depositor[] = ['CUSTODY', 'HOLDER'];
const STATES = offRampState.enumValues;
const ALL_EVENTS = Object.keys(EVENTS) as OffRampEvent[];

const inState = (depositor: Depositor, state: OffRampState) =>
  TRANSITIONS.filter((row) => row.from === state && (row.depositor === 'ANY' || row.depositor === depositor));

/** Returns why an event that the state knows needs no row under these facts; null when a row is needed. */
function reasonForNoRow(
  depositor: Depositor,
  state: OffRampState,
  event: OffRampEvent,
  facts: Facts,
): string | null {
  if (event === 'cancelled' && facts.isPaid) return 'the caller is refused: what is paid stays paid';
  if (state === 'CLOSING' && event === 'paid' && facts.isCancelled)
    return 'what was cancelled is undecidable';
  if (state !== 'NEEDS_REVIEW') return null;
  if (facts.isDeposited && ['deposited', 'depositRefused', 'depositGoesOn'].includes(event)) {
    return 'the deposit was seen already: only its transaction is recorded';
  }
  if (facts.isDeposited && event === 'acceptedUndeposited') return 'an operator is refused what is not so';
  if (depositor === 'HOLDER' && event === 'depositRefused' && facts.isPaid) {
    return 'it is under review because it is paid, and stays so';
  }
  if (facts.resolution === null && ['released', 'releaseGoesOn', 'pauseOver'].includes(event)) {
    return 'nothing was to be released';
  }
  return null;
}

describe.each(DEPOSITORS)('a session whose depositor is %s', (depositor) => {
  it.each(STATES)('has one row for each event that %s knows, whatever the facts', (state) => {
    const known = new Set(inState(depositor, state).map(({ event }) => event));
    for (const event of ALL_EVENTS) {
      for (const facts of possibleFacts(depositor, state)) {
        const rows = matchingTransitions(depositor, state, event, facts);
        const isNeeded = known.has(event) && reasonForNoRow(depositor, state, event, facts) === null;
        expect(rows, `${state}, ${event}, ${JSON.stringify(facts)}`).toHaveLength(isNeeded ? 1 : 0);
      }
    }
  });

  it('can come to each end from everywhere it can be', () => {
    const reach = (from: OffRampState) => {
      const reached = new Set([from]);
      // The loop also visits the states that it adds, at most all states.
      for (const state of reached) for (const { next } of inState(depositor, state)) reached.add(next);
      return reached;
    };
    const reachable = reach('OPENING');
    const unused = depositor === 'CUSTODY' ? ['AWAITING_SIGNATURE'] : [];
    expect(STATES.filter((state) => !reachable.has(state))).toEqual(unused);
    for (const state of reachable) {
      for (const end of ['SETTLED', 'REFUNDED', 'CLOSED'] as const) expect(reach(state)).toContain(end);
    }
  });
});

describe('the table', () => {
  it('uses every event', () => {
    const used = new Set(TRANSITIONS.map(({ event }) => event));
    expect(ALL_EVENTS.filter((event) => !used.has(event))).toEqual([]);
  });

  it('lets custody deposit for no holder', () => {
    const deposits = TRANSITIONS.filter(({ effect }) => effect === 'deposit');
    expect(deposits.map(({ depositor, next }) => [depositor, next])).toEqual(
      deposits.map(() => ['CUSTODY', 'DEPOSITING']),
    );
    expect(deposits.length).toBeGreaterThan(0);
  });

  it('releases exactly where a release begins, unless its submission goes on', () => {
    const begins = TRANSITIONS.filter(
      ({ from, next, event }) =>
        (next === 'CONFIRMING' || next === 'REFUNDING') && next !== from && event !== 'releaseGoesOn',
    );
    expect(begins).toEqual(TRANSITIONS.filter(({ effect }) => effect === 'release'));
  });

  it('takes nothing out of an end but by a review, or to give back what came late', () => {
    const out = TRANSITIONS.filter(
      ({ from, next }) => ['SETTLED', 'REFUNDED', 'CLOSED'].includes(from) && next !== from,
    );
    const others = out.filter(({ next }) => next !== 'NEEDS_REVIEW');
    expect(others.map(({ from, event, next }) => [from, event, next])).toEqual([
      ['CLOSED', 'deposited', 'REFUNDING'],
    ]);
  });
});
