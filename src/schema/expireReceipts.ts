/**
 * expireReceipts: the expiry job by hand.
 */
import { requestRun } from '../jobs/expiryRuns.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { ExpiryRunRef } from './expiryRuns.ts';
import { builder } from './platform.ts';

builder.mutationField('expireReceipts', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Starts a run of the expiry job now, beside those at night, and answers at once: `node(id:)` tells how far it is. ' +
        'A receipt that another run has taken is left to that one.',
    ),
    type: ExpiryRunRef,
    resolve: async (_root, _args, { caller, dependencies }) => {
      const requestedBy = subjectOf(caller);
      const run = await requestRun(dependencies, { trigger: 'MANUAL', night: null, requestedBy });
      if (run === null) throw new Error('a run by hand was not recorded');
      return run;
    },
  }),
);
