/**
 * indexerRegistration: the address to which the indexer delivers retirements, as this platform knows it.
 */
import { findRegistration, type Registration } from '../../resolvers/operations/watchRetirements.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { moment } from '../core/time.ts';

const IndexerRegistrationRef = builder.objectRef<Registration>('IndexerRegistration').implement({
  description: 'The registration of the retirements hook with the indexer.',
  fields: (t) => ({
    webhookId: t.exposeString('webhookId', { description: "The indexer's id of it." }),
    url: t.exposeString('url', { description: 'The address that the indexer delivers to.' }),
    current: t.exposeBoolean('isCurrent', {
      description:
        "Whether `url` is the hook's present address. When it is not, `watchRetirements` registers the present one.",
    }),
    createdAt: t.expose('createdAt', moment('When it was made')),
  }),
});

builder.queryField('indexerRegistration', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'The live registration with the indexer, which `watchRetirements` makes; null when there is none. When the indexer loses it, the ' +
        'server registers again within minutes; without deliveries the feed is slower, not incomplete.',
    ),
    type: IndexerRegistrationRef,
    nullable: true,
    resolve: (_root, _args, { dependencies }) => findRegistration(dependencies),
  }),
);
