/**
 * A decision on an off-ramp session applies to the status that the operator saw.
 */
import { expect, it } from 'vitest';
import type { OffRampSession } from '../../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { requireSeenStatus } from '../../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import type { RampStatus } from '../../../../src/ramp/port.ts';

it.each<[RampStatus | null, RampStatus | null, string | null]>([
  ['failed', 'settled', 'SETTLED'],
  ['settled', null, null],
])('says of one that was made on %s that it is %s, as the contract does', (seen, providerStatus, shown) => {
  const session = { providerStatus } as OffRampSession;
  expect(() => requireSeenStatus(session, seen)).toThrow(
    expect.objectContaining({
      code: 'CONFLICT',
      details: { field: 'input.seenProviderStatus', providerStatus: shown },
    }),
  );
});
