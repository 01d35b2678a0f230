/**
 * TokenRevocation: bearer tokens that ended before their expiry. revokeTokens ends them, and closes the sockets
 * and streams that they opened.
 */
import type { TokenRevocationRow } from '../../identity/tokenRevocations.ts';
import {
  findTokenRevocation,
  listTokenRevocations,
  revokeTokens,
} from '../../resolvers/access/tokenRevocations.ts';
import { forRoles } from '../core/access.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { isAdmin, subjectOf } from '../core/caller.ts';
import { anyOf, filterInput } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { keyword, subject, reason } from '../core/text.ts';
import { moment } from '../core/time.ts';
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { inputOf, optional, payloadOf, resultOf } from '../core/inputs.ts';

const TokenRevocationRef = builder.objectRef<TokenRevocationRow>('TokenRevocation');

builder.node(TokenRevocationRef, {
  description:
    'A revocation of bearer tokens, which are refused before their expiry: one token, by its `jti`, or the ' +
    'tokens of a subject. Visible to administrators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findTokenRevocation, isAdmin),
  fields: (t) => ({
    jti: t.exposeString('jti', {
      nullable: true,
      description: 'The "jti" of the revoked token. Null when the revocation is about a subject.',
    }),
    subject: t.exposeString('subject', {
      nullable: true,
      description: 'The "sub" of the revoked tokens. Null when the revocation is about one token.',
    }),
    issuedUntil: t.expose('issuedUntil', {
      type: 'UnixTime',
      nullable: true,
      description:
        "The subject's tokens that were issued before this time, in Unix seconds, are refused, and so are those " +
        'without an issue time. Null when the revocation is about one token.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The reason for the revocation. Null when none was given.',
    }),
    revokedBy: t.exposeString('revokedBy', {
      description: 'The subject of the administrator who revoked the tokens.',
    }),
    revokedAt: t.expose('revokedAt', moment('The time the tokens were revoked')),
    endsAt: t.expose('endsAt', {
      type: 'UnixTime',
      description:
        'The time the revocation leaves the list, in Unix seconds. The tokens have expired by then.',
    }),
  }),
});

const TokenRevocationFilterInput = filterInput('TokenRevocationFilter', 'A revocation', (t) => ({
  jtis: t.stringList(anyOf('revocations of a token with one of these "jti" values', keyword)),
  subjects: t.stringList(anyOf('revocations of one of these subjects', subject)),
}));

addList('tokenRevocations', TokenRevocationRef, {
  ...forRoles(['admin'], 'A paginated list of the revocations in force, newest first.'),
  filter: TokenRevocationFilterInput,
  filtered: 'Filters the revocations. All are listed when omitted.',
  list: listTokenRevocations,
});

const RevokeTokensInput = builder.inputType('RevokeTokensInput', {
  description: 'The tokens to revoke, named by either a `jti` or a `subject`.',
  fields: (t) => ({
    jti: t.string(
      optional(keyword, 'The "jti" of one token: 1 to 128 printable ASCII characters without spaces.'),
    ),
    subject: t.string(optional(subject, `The "sub" of the tokens: ${SUBJECT_FORM}.`)),
    issuedUntil: t.field({
      type: 'UnixTime',
      description:
        'Only with a `subject`. Revokes the tokens that were issued ("iat") before this time, in Unix seconds, and ' +
        'those without an issue time. The time must be at most ten seconds from now, which is the default, because ' +
        'clocks differ. Tokens that are issued after this time are valid.',
    }),
    reason: t.string(optional(reason, 'The reason for the revocation: at most 512 bytes of UTF-8.')),
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
      tokenRevocation: resultOf(TokenRevocationRef, 'The revocation.'),
    }),
    args: inputOf(RevokeTokensInput, 'The tokens to revoke.'),
    recordedInput: { targets: ['jti', 'subject'], shown: ['issuedUntil'], hidden: ['reason'] },
    safeWithoutKey: 'a revocation is never taken back',
    resolve: (_root, { input }, { caller, dependencies }) =>
      revokeTokens(dependencies, subjectOf(caller), input),
  }),
);
