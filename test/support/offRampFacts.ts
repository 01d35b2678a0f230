/**
 * Lists every combination of facts that an off-ramp session can have in a state, as the database's checks
 * allow it.
 */
import type { OffRampState } from '../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { Depositor, Facts } from '../../src/resolvers/warehouse/offRamp/transitions.ts';

const NEVER_DEPOSITED: readonly OffRampState[] = [
  'OPENING',
  'AWAITING_SIGNATURE',
  'DEPOSITING',
  'CLOSING',
  'CLOSED',
];
const RESOLUTIONS: Record<OffRampState, readonly Facts['resolution'][]> = {
  OPENING: [null],
  AWAITING_SIGNATURE: [null],
  DEPOSITING: [null],
  CLOSING: [null],
  CLOSED: [null],
  AWAITING_PAYOUT: [null],
  CONFIRMING: ['SETTLE'],
  SETTLED: ['SETTLE'],
  REFUNDING: ['REFUND'],
  REFUNDED: ['REFUND'],
  NEEDS_REVIEW: [null, 'SETTLE', 'REFUND'],
};
const BOTH = [true, false];

export function possibleFacts(depositor: Depositor, state: OffRampState): Facts[] {
  const combinations = BOTH.flatMap((isStopped) =>
    [{ isPaid: true }, { isFailed: true }, {}].flatMap((status) =>
      BOTH.flatMap((isDeposited) =>
        RESOLUTIONS[state].flatMap((resolution) =>
          BOTH.flatMap((isUnderWay) =>
            BOTH.map((isCancelled) => ({
              isPaid: false,
              isFailed: false,
              ...status,
              isStopped,
              isDeposited,
              resolution,
              isUnderWay,
              isCancelled,
            })),
          ),
        ),
      ),
    ),
  );
  return combinations.filter(
    ({ isDeposited, resolution, isStopped, isUnderWay, isCancelled }) =>
      (isDeposited || resolution === null) &&
      (state === 'NEEDS_REVIEW' || isDeposited !== NEVER_DEPOSITED.includes(state)) &&
      (state !== 'CLOSED' || isStopped) &&
      (depositor === 'HOLDER' || state === 'DEPOSITING' || !isUnderWay) &&
      // A cancellation of a session in OPENING stops it.
      (state !== 'OPENING' || isStopped || !isCancelled),
  );
}
