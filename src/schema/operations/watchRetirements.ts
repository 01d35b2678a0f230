/**
 * watchRetirements: registers this platform's hook with the indexer.
 */
import { watchRetirements } from '../../resolvers/operations/watchRetirements.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';

const WatchRetirementsPayload = builder
  .objectRef<{ webhookId: string }>('WatchRetirementsPayload')
  .implement({
    description: 'The one live registration.',
    fields: (t) => ({
      webhookId: t.exposeString('webhookId', { description: "The indexer's id of the registration." }),
    }),
  });

builder.mutationField('watchRetirements', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Registers the public address of POST /api/hooks/retirements with the indexer, for events of every type. ' +
        'Repeating the mutation leaves exactly one live registration. Errors: INDEXER_UNAVAILABLE (repeat the ' +
        'mutation to clean up).',
    ),
    type: WatchRetirementsPayload,
    recordedInput: {},
    safeWithoutKey: 'registering twice leaves one registration',
    resolve: (_root, _args, { dependencies }) => watchRetirements(dependencies),
  }),
);
