/**
 * indexerRegistration: the address to which the indexer delivers retirements, as this platform knows it.
 * watchRetirements registers it.
 */
import {
  findRegistration,
  type Registration,
  watchRetirements,
} from '../../resolvers/operations/watchRetirements.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { moment } from '../core/time.ts';

const IndexerRegistrationRef = builder.objectRef<Registration>('IndexerRegistration').implement({
  description: "The registration of the platform's retirements webhook with the indexer.",
  fields: (t) => ({
    webhookId: t.exposeString('webhookId', { description: "The indexer's id of the registration." }),
    url: t.exposeString('url', { description: 'The address to which the indexer delivers retirements.' }),
    current: t.exposeBoolean('isCurrent', {
      description:
        'Whether `url` is the current address of the webhook. When it is not, `watchRetirements` registers the ' +
        'current address.',
    }),
    createdAt: t.expose('createdAt', moment('The time the registration was made')),
  }),
});

builder.queryField('indexerRegistration', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'The live registration with the indexer, created by `watchRetirements`. Null when there is none. When the ' +
        'indexer loses the registration, the server registers again within minutes. Without deliveries the feed is ' +
        'slower, but not incomplete.',
    ),
    type: IndexerRegistrationRef,
    resolve: (_root, _args, { dependencies }) => findRegistration(dependencies),
  }),
);

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
