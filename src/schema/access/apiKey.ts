/**
 * ApiKey: the credential of a service account. The key is shown once, when it is created.
 */
import { visiblePart, type ApiKeyRow } from '../../identity/apiKeys.ts';
import { ROLES, type Role } from '../../identity/roles.ts';
import { findApiKey, listApiKeys } from '../../resolvers/access/apiKeys.ts';
import { forRoles } from '../core/access.ts';
import { isAdmin } from '../core/caller.ts';
import { anyOf, FILTER_RULE, filterOf, within } from '../core/filters.ts';
import { subject } from '../core/text.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { fromTime, moment, momentOrNull, untilTime } from '../core/time.ts';

const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  admin: 'May do everything.',
  operator: 'Runs the platform: reads all data except API keys and token revocations, and resolves reviews.',
  developer: 'Submits projects and sets their prices.',
  buyer: 'Buys, transfers and retires credits under the buyerId that equals its subject.',
  warehouse: 'Confirms deposits for its warehouseIds.',
  farmer: 'Cashes out and pledges receipts whose farmerId equals its subject.',
  lender: 'Releases the pledges whose lenderId equals its subject.',
};

export const RoleEnum = builder.enumType('Role', {
  description: 'A role of a token or an API key, which determines the operations that it may use.',
  values: Object.fromEntries(
    ROLES.map((role) => [role.toUpperCase(), { value: role, description: ROLE_MEANINGS[role] }]),
  ) as Record<Uppercase<Role>, { value: Role; description: string }>,
});

export const ApiKeyRef = builder.objectRef<ApiKeyRow>('ApiKey');

builder.node(ApiKeyRef, {
  description: 'An API key, without the secret key itself. Visible to administrators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findApiKey, isAdmin),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name of the client that uses the key.' }),
    prefix: t.string({
      description: 'The first characters of the key, for recognising it.',
      resolve: ({ id }) => visiblePart(id),
    }),
    subject: t.exposeString('subject', {
      description: 'The subject that the key authenticates, like the "sub" of a token.',
    }),
    roles: t.field({
      type: [RoleEnum],
      description: 'The roles of the key.',
      resolve: ({ roles }) => roles as Role[],
    }),
    warehouseIds: t.exposeStringList('warehouseIds', {
      description: 'The warehouses that role WAREHOUSE may act for. Empty without that role.',
    }),
    createdBy: t.exposeString('createdBy', {
      description: 'The subject of the administrator who created the key.',
    }),
    createdAt: t.expose('createdAt', moment('The time the key was created')),
    expiresAt: t.expose('expiresAt', moment('The time the key expires')),
    revokedAt: t.expose(
      'revokedAt',
      momentOrNull('The time the key was revoked', 'Null when the key is not revoked'),
    ),
    revokedBy: t.exposeString('revokedBy', {
      nullable: true,
      description: 'The subject of the administrator who revoked the key. Null when the key is not revoked.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'UnixTime',
      nullable: true,
      description:
        "The time of the key's last use, in Unix seconds, accurate to five minutes. Null when the key was never " +
        'used.',
    }),
  }),
});

const ApiKeyFilterInput = builder.inputType('ApiKeyFilter', {
  description: `An API key ${FILTER_RULE}`,
  fields: (t) => ({
    subjects: t.stringList(anyOf('API keys of one of these subjects', subject)),
    roles: t.field({ type: [RoleEnum], description: 'Only API keys with at least one of these roles.' }),
    active: t.boolean({
      description:
        'true: only keys that are neither expired nor revoked; false: only keys that are expired or revoked.',
    }),
    ...within(t, 'API keys created'),
    expiresFrom: t.field(fromTime('API keys that expire')),
    expiresUntil: t.field(untilTime('API keys that expire')),
  }),
});

const cursors = keysetCursors('apiKeys');

builder.queryField('apiKeys', (t) =>
  t.connection(
    {
      ...forRoles(['admin'], 'A paginated list of API keys, newest first.'),
      type: ApiKeyRef,
      args: filterOf(ApiKeyFilterInput, 'Filters the API keys. All are listed when omitted.'),
      resolve: (_root, args, { dependencies }) =>
        pageOf(args, cursors, listApiKeys(dependencies, args.filter ?? {})),
    },
    ...listNames('ApiKey'),
  ),
);
