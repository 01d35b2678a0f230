/**
 * revokeApiKey: a key ends, and what it opened with it.
 */
import type { ApiKeyRow } from '../identity/apiKeys.ts';
import { revokeApiKey } from '../resolvers/revokeApiKey.ts';
import { forRoles } from './access.ts';
import { ApiKeyRef } from './apiKey.ts';
import { subjectOf } from './caller.ts';
import { builder } from './platform.ts';

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'Which key ends.',
  fields: (t) => ({
    id: t.globalID({ for: ApiKeyRef, required: true, description: 'The `id` of the API key.' }),
  }),
});

const RevokeApiKeyPayload = builder.objectRef<ApiKeyRow>('RevokeApiKeyPayload').implement({
  description: 'The key, revoked.',
  fields: (t) => ({
    apiKey: t.field({ type: ApiKeyRef, description: 'The key.', resolve: (apiKey) => apiKey }),
  }),
});

builder.mutationField('revokeApiKey', (t) =>
  t.field({
    ...forRoles(
      ['admin'],
      'Revokes an API key at once; its open sockets and streams are closed within seconds, on every instance. Revoking it ' +
        'again changes nothing. Errors: NOT_FOUND.',
    ),
    type: RevokeApiKeyPayload,
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'The key.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      revokeApiKey(dependencies, subjectOf(caller), input.id.id),
  }),
);
