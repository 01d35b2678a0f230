/**
 * ApiKey: what a service account sends instead of a token. The key itself is shown once, when it is made.
 */
import { unixSeconds } from '../clock.ts';
import { visiblePart, type ApiKeyRow } from '../identity/apiKeys.ts';
import { ROLES, type Role } from '../identity/roles.ts';
import { apiKeyCursor, findApiKey, listApiKeys } from '../resolvers/listApiKeys.ts';
import { forRoles } from './access.ts';
import { isAdmin } from './caller.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';
import { buyerId } from './text.ts';

const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  admin: 'Everything.',
  operator: 'Runs the platform: sees all, resolves reviews.',
  developer: 'Submits projects.',
  buyer: 'Buys and retires under the buyerId that equals its subject.',
  warehouse: 'Confirms deposits of its warehouseIds.',
  farmer: 'Cashes out receipts whose farmerId equals its subject.',
};

export const RoleEnum = builder.enumType('Role', {
  description: 'What a token or an API key may be used for.',
  values: Object.fromEntries(
    ROLES.map((role) => [role.toUpperCase(), { value: role, description: ROLE_MEANINGS[role] }]),
  ) as Record<Uppercase<Role>, { value: Role; description: string }>,
});

export const ApiKeyRef = builder.objectRef<ApiKeyRow>('ApiKey');

builder.node(ApiKeyRef, {
  description: "An API key, without the key. Seen by administrators' tokens.",
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) => (isAdmin(caller) ? findApiKey(dependencies, id) : null),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Which client uses it.' }),
    prefix: t.string({
      description: "The key's beginning, to recognise it by.",
      resolve: ({ id }) => visiblePart(id),
    }),
    subject: t.exposeString('subject', { description: 'Whom it speaks for, as a token\'s "sub".' }),
    roles: t.field({
      type: [RoleEnum],
      description: 'What it may be used for.',
      resolve: ({ roles }) => roles as Role[],
    }),
    warehouseIds: t.exposeStringList('warehouseIds', {
      description: 'The warehouses that role WAREHOUSE may act for.',
    }),
    createdBy: t.exposeString('createdBy', { description: 'The administrator who made it.' }),
    createdAt: t.field({
      type: 'UnixTime',
      description: 'When it was made, in Unix seconds.',
      resolve: ({ createdAt }) => unixSeconds(createdAt),
    }),
    expiresAt: t.field({
      type: 'UnixTime',
      description: 'When it ends by itself, in Unix seconds.',
      resolve: ({ expiresAt }) => unixSeconds(expiresAt),
    }),
    revokedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it was revoked, in Unix seconds; null if it was not.',
      resolve: ({ revokedAt }) => (revokedAt === null ? null : unixSeconds(revokedAt)),
    }),
    revokedBy: t.exposeString('revokedBy', {
      nullable: true,
      description: 'The administrator who revoked it.',
    }),
    lastUsedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it was last used, in Unix seconds, give or take five minutes; null if never.',
      resolve: ({ lastUsedAt }) => (lastUsedAt === null ? null : unixSeconds(lastUsedAt)),
    }),
  }),
});

const ApiKeyFilterInput = builder.inputType('ApiKeyFilter', {
  description: 'Only API keys that have all of these.',
  fields: (t) => ({
    subject: t.string({ validate: { schema: buyerId }, description: 'That speak for this subject.' }),
    active: t.boolean({ description: 'Neither expired nor revoked, or one of the two.' }),
  }),
});

const cursors = keysetCursors('apiKeys', cursorValues.moment);

builder.queryField('apiKeys', (t) =>
  t.connection(
    {
      ...forRoles(['admin'], 'API keys, newest first, a page at a time.'),
      type: ApiKeyRef,
      args: { filter: t.arg({ type: ApiKeyFilterInput, description: 'Which API keys.' }) },
      resolve: (_root, args, { dependencies }) => {
        const filter = { subject: args.filter?.subject, isActive: args.filter?.active };
        return pageOf(args, cursors, (page) => listApiKeys(dependencies, filter, page), apiKeyCursor);
      },
    },
    ...listNames('ApiKey'),
  ),
);
