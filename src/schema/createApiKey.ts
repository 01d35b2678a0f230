/**
 * createApiKey: a key for a service account.
 */
import type { ApiKeyRow } from '../identity/apiKeys.ts';
import { createApiKey } from '../resolvers/createApiKey.ts';
import { forRoles } from './access.ts';
import { ApiKeyRef, RoleEnum } from './apiKey.ts';
import { requireCaller } from './caller.ts';
import { builder } from './platform.ts';
import { buyerId, idList, label, roleList } from './text.ts';

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description:
    'What the key may be used for, and until when. It is fixed: make another key for other rights.',
  fields: (t) => ({
    name: t.string({
      required: true,
      validate: { schema: label },
      description: 'Which client will use it: at most 128 bytes of UTF-8.',
    }),
    subject: t.string({
      required: true,
      validate: { schema: buyerId },
      description:
        'Whom it speaks for, as a token\'s "sub": the buyerId of a buyer, the farmerId of a farmer.',
    }),
    roles: t.field({
      type: [RoleEnum],
      required: true,
      validate: { schema: roleList },
      description: 'What it may be used for: at least one role.',
    }),
    warehouseIds: t.stringList({
      validate: { schema: idList },
      description:
        'The warehouses that role WAREHOUSE may act for: at most 100; the subject alone without it.',
    }),
    expiresAt: t.field({
      type: 'UnixTime',
      required: true,
      description: 'When it ends by itself, in Unix seconds: at most 400 days from now.',
    }),
  }),
});

const CreateApiKeyPayload = builder
  .objectRef<{ key: string; apiKey: ApiKeyRow }>('CreateApiKeyPayload')
  .implement({
    description: 'The key, this once.',
    fields: (t) => ({
      key: t.exposeString('key', {
        description:
          'Sent as `authorization: Bearer <key>`. It is kept nowhere: when it is lost, revoke it and make another.',
      }),
      apiKey: t.expose('apiKey', { type: ApiKeyRef, description: 'What is known of it from now on.' }),
    }),
  });

builder.mutationField('createApiKey', (t) =>
  t.field({
    ...forRoles(
      ['admin'],
      'Makes an API key for a server-to-server client. The caller must have a token: API keys can not make API keys. ' +
        'Errors: BAD_USER_INPUT.',
    ),
    type: CreateApiKeyPayload,
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The key.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      createApiKey(dependencies, requireCaller(caller), input),
  }),
);
