/**
 * ApiKey: the credential of a service account. The key is shown once, when it is created.
 */
import { visiblePart, type ApiKeyRow } from '../../identity/apiKeys.ts';
import { ROLES, type Role } from '../../identity/roles.ts';
import { findApiKey, listApiKeys } from '../../resolvers/access/apiKeys.ts';
import { forRoles } from '../core/access.ts';
import { isAdmin } from '../core/caller.ts';
import { FILTER_RULE, oneOf, subjectList } from '../core/filters.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { fromTime, moment, momentOrNull, untilTime } from '../core/time.ts';

const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  admin: 'May do everything.',
  operator: 'Runs the platform: reads everything, resolves reviews.',
  developer: 'Submits projects.',
  buyer: 'Buys and retires under the buyerId that equals its subject.',
  warehouse: 'Confirms deposits of its warehouseIds.',
  farmer: 'Cashes out and pledges receipts whose farmerId equals its subject.',
  lender: 'Releases pledges of receipts whose lenderId equals its subject.',
};

export const RoleEnum = builder.enumType('Role', {
  description: 'A role of a token or an API key: what it may do.',
  values: Object.fromEntries(
    ROLES.map((role) => [role.toUpperCase(), { value: role, description: ROLE_MEANINGS[role] }]),
  ) as Record<Uppercase<Role>, { value: Role; description: string }>,
});

export const ApiKeyRef = builder.objectRef<ApiKeyRow>('ApiKey');

builder.node(ApiKeyRef, {
  description: 'An API key, without the key. Visible to administrators.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) => (isAdmin(caller) ? findApiKey(dependencies, id) : null),
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The client that uses it.' }),
    prefix: t.string({
      description: 'The first characters of the key, to recognise it.',
      resolve: ({ id }) => visiblePart(id),
    }),
    subject: t.exposeString('subject', {
      description: 'The subject that it authenticates, like a token\'s "sub".',
    }),
    roles: t.field({
      type: [RoleEnum],
      description: 'Its roles.',
      resolve: ({ roles }) => roles as Role[],
    }),
    warehouseIds: t.exposeStringList('warehouseIds', {
      description: 'The warehouses that role WAREHOUSE may act for; none without that role.',
    }),
    createdBy: t.exposeString('createdBy', { description: 'The administrator who created it.' }),
    createdAt: t.expose('createdAt', moment('When it was created')),
    expiresAt: t.expose('expiresAt', moment('When it expires')),
    revokedAt: t.expose('revokedAt', momentOrNull('When it was revoked', 'null if it is not')),
    revokedBy: t.exposeString('revokedBy', {
      nullable: true,
      description: 'The administrator who revoked it.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'UnixTime',
      nullable: true,
      description: 'When it was last used, in Unix seconds, to within five minutes; null if never.',
    }),
  }),
});

const ApiKeyFilterInput = builder.inputType('ApiKeyFilter', {
  description: `An API key ${FILTER_RULE}`,
  fields: (t) => ({
    subjects: t.stringList({
      validate: { schema: subjectList },
      description: oneOf('Of one of these subjects'),
    }),
    roles: t.field({ type: [RoleEnum], description: 'With one of these roles, perhaps beside others.' }),
    active: t.boolean({
      description: 'true: only keys that are neither expired nor revoked; false: only the others.',
    }),
    from: t.field(fromTime('Created')),
    until: t.field(untilTime('Created')),
    expiresFrom: t.field(fromTime('That expire')),
    expiresUntil: t.field(untilTime('That expire')),
  }),
});

const cursors = keysetCursors('apiKeys');

builder.queryField('apiKeys', (t) =>
  t.connection(
    {
      ...forRoles(['admin'], 'API keys, newest first, a page at a time.'),
      type: ApiKeyRef,
      nullable: true,
      args: { filter: t.arg({ type: ApiKeyFilterInput, description: 'Which API keys; all when omitted.' }) },
      resolve: (_root, args, { dependencies }) => {
        const { active, ...rest } = args.filter ?? {};
        const filter = { ...rest, isActive: active };
        return pageOf(args, cursors, listApiKeys(dependencies, filter));
      },
    },
    ...listNames('ApiKey'),
  ),
);
