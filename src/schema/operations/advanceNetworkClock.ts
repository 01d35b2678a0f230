/**
 * advanceNetworkClock: moves the time of a development network ahead.
 */
import * as z from 'zod';
import { advanceNetworkClock, MAX_ADVANCE_SECONDS } from '../../resolvers/operations/advanceNetworkClock.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { inputOf } from '../core/inputs.ts';
import { moment } from '../core/time.ts';

const SECONDS_PROBLEM = `must be 1 to ${MAX_ADVANCE_SECONDS} seconds`;

const AdvanceNetworkClockInput = builder.inputType('AdvanceNetworkClockInput', {
  description: 'The time by which to move the clock.',
  fields: (t) => ({
    seconds: t.int({
      required: true,
      validate: {
        schema: z
          .number()
          .int()
          .min(1, { error: SECONDS_PROBLEM })
          .max(MAX_ADVANCE_SECONDS, { error: SECONDS_PROBLEM }),
      },
      description: `The number of seconds: 1 to ${MAX_ADVANCE_SECONDS}.`,
    }),
  }),
});

const AdvanceNetworkClockPayload = builder
  .objectRef<{ ledgerClosedAt: bigint }>('AdvanceNetworkClockPayload')
  .implement({
    description: 'The new time of the network.',
    fields: (t) => ({
      ledgerClosedAt: t.expose(
        'ledgerClosedAt',
        moment("The time the network's new ledger closed, by the network's own clock"),
      ),
    }),
  });

builder.mutationField('advanceNetworkClock', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      "Moves the network's time ahead, permanently, for trying out the expiry of receipts on a development " +
        'network (`clockCanBeMoved`). Errors: CONFLICT (the network keeps its own time, or the server runs in production).',
    ),
    type: AdvanceNetworkClockPayload,
    args: inputOf(AdvanceNetworkClockInput, 'The time by which to move the clock.'),
    recordedInput: { hidden: ['seconds'] },
    safeWithoutKey: 'time moves no value',
    resolve: async (_root, { input }, { dependencies }) => ({
      ledgerClosedAt: await advanceNetworkClock(dependencies, input.seconds),
    }),
  }),
);
