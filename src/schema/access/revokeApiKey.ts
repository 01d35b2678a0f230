/**
 * revokeApiKey: revokes a key, and closes the sockets and streams that it opened.
 */
import { revokeApiKey } from '../../resolvers/access/apiKeys.ts';
import { forRoles } from '../core/access.ts';
import { ApiKeyRef } from './apiKey.ts';
import { subjectOf } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { inputOf, payloadOf } from '../core/inputs.ts';

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
