/**
 * expireReceipts: starts the expiry job on request.
 */
import { requestRun } from '../../jobs/expiryRuns.ts';
import { forRoles } from '../core/access.ts';
import { subjectOf } from '../core/caller.ts';
import { ExpiryRunRef } from './expiryRuns.ts';
import { builder } from '../core/builder.ts';
import { payloadOf } from '../core/inputs.ts';

builder.mutationField('expireReceipts', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Starts a run of the expiry job now, in addition to the nightly runs, and returns immediately. A receipt ' +
        'that another run has claimed is left to that run.',
    ),
    type: payloadOf('ExpireReceiptsPayload', 'The run that was started, which continues in the background.', {
      expiryRun: {
        type: ExpiryRunRef,
        nullable: true,
        description:
          'The run, whose progress `node(id:)` shows. Null only if the mutation was not carried out.',
      },
    }),
    recordedInput: {},
    safeWithoutKey: 'a receipt expires once, however many runs there are',
    resolve: async (_root, _args, { caller, dependencies }) => {
      const requestedBy = subjectOf(caller);
      const run = await requestRun(dependencies, { trigger: 'MANUAL', night: null, requestedBy });
      if (run === null) throw new Error('a run by hand was not recorded');
      return run;
    },
  }),
);
