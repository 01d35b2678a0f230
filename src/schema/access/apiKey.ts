/**
 * ApiKey: the credential of a service account. The key is shown once, when it is created. createApiKey, and
 * revokeApiKey, which also closes the sockets and streams that the key opened.
 */
import { visiblePart, type ApiKeyRow } from '../../identity/apiKeys.ts';
import { type Role, SUBJECT_FORM } from '../../identity/roles.ts';
import {
  findApiKey,
  listApiKeys,
  createApiKey,
  type CreatedApiKey,
  revokeApiKey,
} from '../../resolvers/access/apiKeys.ts';
import { forRoles } from '../core/access.ts';
import { isAdmin, requireCaller, subjectOf } from '../core/caller.ts';
import { anyOf, filterInput, within } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { subject, idList, label, roleList } from '../core/text.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { fromTime, moment, momentOrNull, untilTime } from '../core/time.ts';
import { IDEMPOTENCY_KEY, inputOf, payloadOf, required } from '../core/inputs.ts';

export const RoleEnum = enumOf<Role>(
  'Role',
  'A role of a token or an API key, which determines the operations that it may use.',
  {
    admin: 'May do everything.',
    operator:
      'Runs the platform: reads all data except API keys and token revocations, and resolves reviews.',
    developer: 'Submits projects and sets their prices.',
    buyer: 'Buys, transfers and retires credits under the buyerId that equals its subject.',
    warehouse: 'Confirms deposits for its warehouseIds.',
    farmer: 'Cashes out and pledges receipts whose farmerId equals its subject.',
    lender: 'Releases the pledges whose lenderId equals its subject.',
  },
);

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

const ApiKeyFilterInput = filterInput('ApiKeyFilter', 'An API key', (t) => ({
  subjects: t.stringList(anyOf('API keys of one of these subjects', subject)),
  roles: t.field({ type: [RoleEnum], description: 'Only API keys with at least one of these roles.' }),
  active: t.boolean({
    description:
      'true: only keys that are neither expired nor revoked; false: only keys that are expired or revoked.',
  }),
  ...within(t, 'API keys created'),
  expiresFrom: t.field(fromTime('API keys that expire')),
  expiresUntil: t.field(untilTime('API keys that expire')),
}));

addList('apiKeys', ApiKeyRef, {
  ...forRoles(['admin'], 'A paginated list of API keys, newest first.'),
  filter: ApiKeyFilterInput,
  filtered: 'Filters the API keys. All are listed when omitted.',
  list: listApiKeys,
});

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description:
    'The rights and the expiry of the new key. They cannot be changed later: create another key for other ' +
    'rights.',
  fields: (t) => ({
    name: t.string(
      required(label, 'The name of the client that will use the key: at most 128 bytes of UTF-8.'),
    ),
    subject: t.string({
      required: true,
      validate: { schema: subject },
      description:
        'The subject that the key authenticates, like the "sub" of a token: the buyerId of a buyer, the farmerId of ' +
        `a farmer. ${SUBJECT_FORM}.`,
    }),
    roles: t.field({
      type: [RoleEnum],
      required: true,
      validate: { schema: roleList },
      description: 'The roles of the key, at least one.',
    }),
    warehouseIds: t.stringList({
      validate: { schema: idList },
      description:
        'The warehouses that role WAREHOUSE may act for: at most 100, each in the form of a subject. Defaults to ' +
        'the subject. Must be omitted or empty without that role.',
    }),
    expiresAt: t.field({
      type: 'UnixTime',
      required: true,
      description: 'The time the key expires, in Unix seconds: one minute to 400 days from now.',
    }),
    idempotencyKey: t.string({
      ...IDEMPOTENCY_KEY,
      description: `${IDEMPOTENCY_KEY.description} A repeated request returns the API key without the secret key itself.`,
    }),
  }),
});

const CreateApiKeyPayload = builder.objectRef<CreatedApiKey>('CreateApiKeyPayload').implement({
  description: 'The new key, which is shown once.',
  fields: (t) => ({
    key: t.exposeString('key', {
      nullable: true,
      description:
        'The secret key, to be sent as `authorization: Bearer <key>`. The server does not store it, so only the ' +
        'first response contains it. Null when the request is repeated. If the key is lost, revoke the API key and ' +
        'create another one with a new idempotency key.',
    }),
    apiKey: t.expose('apiKey', {
      type: ApiKeyRef,
      nullable: true,
      description:
        'The API key, without the secret key itself. Null only if the mutation was not carried out.',
    }),
  }),
});

builder.mutationField('createApiKey', (t) =>
  t.field({
    ...forRoles(
      ['admin'],
      'Creates an API key for a server-to-server client. The caller must use a token: an API key cannot create API keys. ' +
        'Errors: IDEMPOTENCY_CONFLICT.',
    ),
    type: CreateApiKeyPayload,
    args: inputOf(CreateApiKeyInput, 'The rights of the key.'),
    recordedInput: {
      targets: ['subject'],
      shown: ['idempotencyKey'],
      hidden: ['name', 'roles', 'warehouseIds', 'expiresAt'],
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      createApiKey(dependencies, requireCaller(caller), input),
  }),
);

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'The key to revoke.',
  fields: (t) => ({
    apiKeyId: t.globalID({ for: ApiKeyRef, required: true, description: 'The `id` of the API key.' }),
  }),
});

builder.mutationField('revokeApiKey', (t) =>
  t.field({
    ...forRoles(
      ['admin'],
      'Revokes an API key. The instance that answers refuses the key immediately, every other instance within ' +
        'seconds. Open sockets and streams of the key are closed within seconds, on every instance. Revoking a ' +
        'revoked key changes nothing. Errors: NOT_FOUND.',
    ),
    type: payloadOf('RevokeApiKeyPayload', 'The revoked key.', {
      apiKey: { type: ApiKeyRef, description: 'The revoked key.' },
    }),
    args: inputOf(RevokeApiKeyInput, 'The key to revoke.'),
    recordedInput: { targets: ['apiKeyId'] },
    safeWithoutKey: 'a revoked key stays revoked',
    resolve: (_root, { input }, { caller, dependencies }) =>
      revokeApiKey(dependencies, subjectOf(caller), input.apiKeyId.id),
  }),
);
