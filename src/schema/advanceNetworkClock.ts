/**
 * advanceNetworkClock: time travel on a network for development.
 */
import { z } from 'zod';
import { advanceNetworkClock, MAX_ADVANCE_SECONDS } from '../resolvers/advanceNetworkClock.ts';
import { forRoles } from './access.ts';
import { builder } from './platform.ts';

builder.mutationField('advanceNetworkClock', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      "Moves the network's time ahead, for good, and answers with its new ledger's close time in Unix seconds. For " +
        'trying out what happens when receipts expire, on a network for development (`clockCanBeMoved`). Errors: ' +
        'CONFLICT on a network that keeps its own time.',
    ),
    type: 'UnixTime',
    args: {
      seconds: t.arg.int({
        required: true,
        validate: { schema: z.number().int().min(1).max(MAX_ADVANCE_SECONDS) },
        description: `By how many seconds: 1 to ${MAX_ADVANCE_SECONDS}.`,
      }),
    },
    resolve: (_root, { seconds }, { dependencies }) => advanceNetworkClock(dependencies, seconds),
  }),
);
