/**
 * viewer: the caller as the server knows it.
 */
import type { Caller } from '../../identity/roles.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { BuyerAccountRef } from '../carbon/buyerAccount.ts';
import { RoleEnum } from './apiKey.ts';

const ViewerRef = builder.objectRef<Caller>('Viewer').implement({
  description: 'The caller, by its token or API key.',
  fields: (t) => ({
    subject: t.exposeString('subject', {
      description: 'Its subject: the buyerId of a buyer, the farmerId of a farmer.',
    }),
    roles: t.field({ type: [RoleEnum], description: 'Its roles.', resolve: ({ roles }) => [...roles] }),
    warehouseIds: t.field({
      type: ['String'],
      description: 'The warehouses that role WAREHOUSE may act for; empty without that role.',
      resolve: ({ roles, warehouseIds }) => (roles.includes('warehouse') ? [...warehouseIds] : []),
    }),
    account: t.field({
      type: BuyerAccountRef,
      nullable: true,
      description: 'Its account as a buyer; null without the role BUYER.',
      resolve: ({ roles, subject }) => (roles.includes('buyer') ? { buyerId: subject } : null),
    }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    ...forPublic('The caller as the server knows it; null without a token.'),
    type: ViewerRef,
    nullable: true,
    resolve: (_root, _args, { caller }) => caller,
  }),
);
