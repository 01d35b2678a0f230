/**
 * createApiKey: a key for a service account.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { createApiKey, type CreatedApiKey } from '../../resolvers/access/apiKeys.ts';
import { forRoles } from '../core/access.ts';
import { ApiKeyRef, RoleEnum } from './apiKey.ts';
import { requireCaller } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { IDEMPOTENCY_KEY, inputOf } from '../core/inputs.ts';
import { idList, label, roleList, subject } from '../core/text.ts';

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description:
    'The rights and the expiry of the new key. They cannot be changed later: create another key for other ' +
    'rights.',
  fields: (t) => ({
    name: t.string({
      required: true,
      validate: { schema: label },
      description: 'The name of the client that will use the key: at most 128 bytes of UTF-8.',
    }),
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
