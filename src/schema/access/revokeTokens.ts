/**
 * revokeTokens: ends bearer tokens before their expiry, and closes the sockets and streams that they opened.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { revokeTokens } from '../../resolvers/access/tokenRevocations.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { inputOf, payloadOf } from '../core/inputs.ts';
import { subjectOf } from '../core/caller.ts';
import { keyword, reason, subject } from '../core/text.ts';
import { TokenRevocationRef } from './tokenRevocations.ts';

const RevokeTokensInput = builder.inputType('RevokeTokensInput', {
  description: 'The tokens to revoke, named by either a `jti` or a `subject`.',
  fields: (t) => ({
    jti: t.string({
      validate: { schema: keyword },
      description: 'The "jti" of one token: 1 to 128 printable ASCII characters without spaces.',
    }),
    subject: t.string({
      validate: { schema: subject },
      description: `The "sub" of the tokens: ${SUBJECT_FORM}.`,
    }),
    issuedUntil: t.field({
      type: 'UnixTime',
      description:
        'Only with a `subject`. Revokes the tokens that were issued ("iat") before this time, in Unix seconds, and ' +
        'those without an issue time. The time must be at most ten seconds from now, which is the default, because ' +
        'clocks differ. Tokens that are issued after this time are valid.',
    }),
    reason: t.string({
      validate: { schema: reason },
      description: 'The reason for the revocation: at most 512 bytes of UTF-8.',
    }),
  }),
});

builder.mutationField('revokeTokens', (t) =>
  t.field({
    ...forRoles(
      ['admin'],
      'Revokes one bearer token by its "jti", or the tokens of a subject by their issue time. The instance that ' +
        'answers refuses the tokens immediately, every other instance within seconds. Open sockets and streams ' +
        'of the tokens are closed within seconds, on every instance. A revocation cannot be undone; repeating it ' +
        'changes nothing, or moves `issuedUntil` to a later time. API keys of the subject stay valid: see ' +
        '`revokeApiKey`. Errors: CONFLICT (too many revocations are in force).',
    ),
    type: payloadOf('RevokeTokensPayload', 'The revocation that is in force.', {
      tokenRevocation: {
        type: TokenRevocationRef,
        nullable: true,
        description: 'The revocation. Null only if the mutation was not carried out.',
      },
    }),
    args: inputOf(RevokeTokensInput, 'The tokens to revoke.'),
    recordedInput: { targets: ['jti', 'subject'], shown: ['issuedUntil'], hidden: ['reason'] },
    safeWithoutKey: 'a revocation is never taken back',
    resolve: (_root, { input }, { caller, dependencies }) =>
      revokeTokens(dependencies, subjectOf(caller), input),
  }),
);
