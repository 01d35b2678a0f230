/**
 * createApiKey: a key for a service account.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { createApiKey, type CreatedApiKey } from '../../resolvers/access/apiKeys.ts';
import { forRoles } from '../core/access.ts';
import { ApiKeyRef, RoleEnum } from './apiKey.ts';
import { requireCaller } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { IDEMPOTENCY_KEY } from '../core/idempotency.ts';
import { idList, label, roleList, subject } from '../core/text.ts';

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'The rights and expiry of the new key. They are fixed: for other rights, create another key.',
  fields: (t) => ({
    name: t.string({
      required: true,
      validate: { schema: label },
      description: 'The client that will use it: at most 128 bytes of UTF-8.',
    }),
    subject: t.string({
      required: true,
      validate: { schema: subject },
      description:
        'The subject that it authenticates, like a token\'s "sub": the buyerId of a buyer, the farmerId of a farmer. ' +
        `${SUBJECT_FORM}.`,
    }),
    roles: t.field({
      type: [RoleEnum],
      required: true,
      validate: { schema: roleList },
      description: 'Its roles: at least one.',
    }),
    warehouseIds: t.stringList({
      validate: { schema: idList },
      description:
        'The warehouses that role WAREHOUSE may act for: at most 100, each in the form of a subject. Defaults to the subject. Without ' +
        'that role, none.',
    }),
    expiresAt: t.field({
      type: 'UnixTime',
      required: true,
      description: 'When it expires, in Unix seconds: a minute to 400 days from now.',
    }),
    idempotencyKey: t.string({
      ...IDEMPOTENCY_KEY,
      description: `${IDEMPOTENCY_KEY.description} The repeated answer has the API key without the key itself.`,
    }),
  }),
});

const CreateApiKeyPayload = builder.objectRef<CreatedApiKey>('CreateApiKeyPayload').implement({
  description: 'The new key, shown once.',
  fields: (t) => ({
    key: t.exposeString('key', {
      nullable: true,
      description:
        'Sent as `authorization: Bearer <key>`. It is not stored, so only the first answer has it, and it is null when the ' +
        'request is repeated. When it is lost, revoke the API key and create another under a new idempotency key.',
    }),
    apiKey: t.expose('apiKey', {
      type: ApiKeyRef,
      nullable: true,
      description: 'The API key, without the key itself; null only where the mutation was not done.',
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
    nullable: true,
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key.' }) },
    recordedInput: {
      targets: ['subject'],
      shown: ['idempotencyKey'],
      hidden: ['name', 'roles', 'warehouseIds', 'expiresAt'],
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      createApiKey(dependencies, requireCaller(caller), input),
  }),
);
