/**
 * viewer: the caller as the server knows it.
 */
import type { Caller } from '../../identity/roles.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { BuyerAccountRef } from '../carbon/buyerAccount.ts';
import { RoleEnum } from './apiKey.ts';

const ViewerRef = builder.objectRef<Caller>('Viewer').implement({
  description: 'The caller, as identified by its token or API key.',
  fields: (t) => ({
    subject: t.exposeString('subject', {
      description: 'The subject of the caller: the buyerId of a buyer, the farmerId of a farmer.',
    }),
    roles: t.field({
      type: [RoleEnum],
      description: 'The roles of the caller.',
      resolve: ({ roles }) => [...roles],
    }),
    warehouseIds: t.field({
      type: ['String'],
      description: 'The warehouses that role WAREHOUSE may act for. Empty without that role.',
      resolve: ({ roles, warehouseIds }) => (roles.includes('warehouse') ? [...warehouseIds] : []),
    }),
    buyerAccount: t.field({
      type: BuyerAccountRef,
      nullable: true,
      description: 'The buyer account of the caller. Null without role BUYER.',
      resolve: ({ roles, subject }) => (roles.includes('buyer') ? { buyerId: subject } : null),
    }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    ...forPublic('The caller, as identified by its token or API key. Null without a token.'),
    type: ViewerRef,
    resolve: (_root, _args, { caller }) => caller,
  }),
);
